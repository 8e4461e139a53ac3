"""Programs of Gemel that tests start are forked from one process that has imported them: no start pays for imports.

A test that starts ``python -m gemel.carole`` starts a process, with its own memory, signals, standard streams, folder
and environment, which can be killed like any other; only the seconds of its imports are missing. `install` replaces
`subprocess.Popen` by a class that forwards such commands to a server; the first use starts it. What a fork could not
show as a start does (another user, a hook before the start, other variables of the interpreter or of a numerical
library) is started as ever; so is everything on a system other than Linux, and what stands in `started_by_exec`.

The server is a child of the process that starts programs, and what it forks is handed to that process: an orphan goes
to the nearest ancestor that adopts orphans, which the starting process does while it waits. So `wait`, `kill` and the
exit status are the system's own. A program that starts further ones has a server of its own, forked before it begins.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import importlib
import inspect
import io
import json
import logging
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
import weakref
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.compiled_once import share_kernels

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = tuple(f"gemel.{path.name}" for path in sorted((ROOT / "gemel").iterdir()) if path.is_symlink())
LEFT_OUT = (".cluster", ".migrations", "__main__", ".worker", ".guardian", ".protos.compile")
"""What few need and takes long to import, or tests need not; and programs, which Python runs as ``__main__``."""

OWN_STARTERS = ("gemel", "gemel.command", "gemel.carole")
"""Programs that start others."""

TESTS_OWN = ("tests.carole.cluster.", "tests.carole.store.", "tests.e2e.")
"""Where tests have programs of their own that a fork can show."""

FIXED = (
    "PYTHON",
    "LD_",
    "LC_",
    "LANG",
    "NUMBA",
    "OPENBLAS",
    "OMP",
    "MKL",
    "POLARS",
    "RAYON",
    "GRPC",
    "MALLOC",
)
"""Beginnings of variables that are read once, at a start: where one differs from the server's, nothing is forked."""

SET_NAME, SUBREAPER = 15, 36
"""Options of prctl(2): a process's name in /proc/PID/comm; to adopt descendants whose parents have ended."""

NAME = "fork-server"
"""Of a server, in /proc/PID/comm."""

_by_exec = threading.local()


@contextlib.contextmanager
def started_by_exec() -> Iterator[None]:
    """Start programs as users do until the block ends."""
    _by_exec.on = True
    try:
        yield
    finally:
        _by_exec.on = False


class Server:
    """The process that forks programs, seen from the process whose children they become."""

    def __init__(self, channel: socket.socket, variables: Mapping[str, str]) -> None:
        self._channel = channel
        self.variables = dict(variables)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    def start(cls) -> Server:
        """A server that has imported everything."""
        ours, theirs = socket.socketpair()
        variables = {**os.environ, "GRPC_ENABLE_FORK_SUPPORT": "0"}
        process = _Popen(
            [sys.executable, "-m", "tests.fork_server", str(theirs.fileno())],
            cwd=ROOT,
            env=variables,
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        server = cls(ours, variables)
        server._process = process  # it ends when this process does
        return server

    def fork(self, request: dict[str, Any], streams: list[int]) -> int:
        """Fork a program; its process id, once it is a child of this process."""
        content = json.dumps(request).encode()
        with self._lock:
            adopt(True)
            try:
                socket.send_fds(self._channel, [len(content).to_bytes(4, "big")], streams)
                self._channel.sendall(content)
                return int.from_bytes(_received(self._channel, 4), "big")
            finally:
                adopt(False)


def adopt(on: bool) -> None:
    """Let this process adopt orphans of its descendants, or no longer."""
    if ctypes.CDLL(None, use_errno=True).prctl(SUBREAPER, int(on), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def set_name(name: str) -> None:
    """What /proc/PID/comm has of this process."""
    ctypes.CDLL(None).prctl(SET_NAME, name.encode(), 0, 0, 0)


def _received(channel: socket.socket, size: int) -> bytes:
    content = b""
    while len(content) < size:
        part = channel.recv(size - len(content))
        if not part:
            raise EOFError("the other end was closed")
        content += part
    return content


# The starting side

_Popen = subprocess.Popen
_SIGNATURE = inspect.signature(_Popen._execute_child)  # type: ignore[attr-defined]
_server: Server | None = None
_starting = threading.Lock()


class Popen(_Popen):  # type: ignore[type-arg]
    """`subprocess.Popen`, which forks the programs of Gemel from a server."""

    def _execute_child(self, *arguments: Any) -> None:
        given = _SIGNATURE.bind(self, *arguments).arguments
        module = _module(given)
        variables = dict(os.environ if given["env"] is None else given["env"])
        server = _the_server() if module else None
        if server is None or _fixed(variables) != _fixed(server.variables):
            super()._execute_child(*arguments)  # type: ignore[misc]
            return
        streams = [
            given[name] if given[name] != -1 else standard
            for standard, name in enumerate(("p2cread", "c2pwrite", "errwrite"))
        ]
        request = {
            "module": module,
            "arguments": [os.fspath(each) for each in given["args"][3:]],
            "environment": variables,
            "folder": str(Path(given["cwd"] or ".").resolve()),
            "session": given["start_new_session"],
            "group": given["process_group"],
            "umask": _umask(),
            "blocked": [int(each) for each in signal.pthread_sigmask(signal.SIG_BLOCK, [])],
            "ignored": signal.getsignal(signal.SIGINT) is signal.SIG_IGN,
        }
        self.pid = server.fork(request, streams)
        self._child_created = True
        self._close_pipe_fds(*(given[name] for name in _PIPES))  # type: ignore[attr-defined]


_PIPES = "p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite"


def _module(given: Mapping[str, Any]) -> str:
    """The program of Gemel, or of its tests, that a command starts and a fork can show as well; else empty."""
    args = given["args"]
    plain = (
        not isinstance(args, (str, bytes, os.PathLike))
        and not getattr(_by_exec, "on", False)
        and given["preexec_fn"] is None
        and not given["pass_fds"]
        and given["close_fds"]
        and given["restore_signals"]
        and not given["shell"]
        and (given["uid"], given["gid"], given["gids"]) == (None, None, None)
        and given["umask"] < 0
        and (given["cwd"] is None or (Path(given["cwd"]).is_dir() and _has_this_source(Path(given["cwd"]))))
    )
    words = list(args)[:3] if plain else []
    if len(words) < 3 or words[:2] != [sys.executable, "-m"]:
        return ""
    forked = words[2] == "gemel" or words[2].startswith(("gemel.", *TESTS_OWN))
    return words[2] if forked else ""


def _has_this_source(folder: Path) -> bool:
    """Whether ``-m`` finds there what this process has imported, and no other version of it."""
    package = folder / "gemel"
    return not package.exists() or package.resolve() == (ROOT / "gemel").resolve()


def _fixed(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name.startswith(FIXED) and name != "PYTHONUNBUFFERED"}


def _umask() -> int:
    """Of this process; setting it in order to read it would change it for all threads."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("Umask:"):
            return int(line.split()[1], 8)
    return 0o022


def _the_server() -> Server | None:
    global _server
    with _starting:
        if _server is None:
            _server = Server.start()
        return _server


def install() -> None:
    """Let this process start programs of Gemel by forks, where the system can."""
    if sys.platform == "linux":
        subprocess.Popen = Popen  # type: ignore[misc]


# The server's side


def serve(channel: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Fork a program for each request; returns in the program, with its request and its standard streams."""
    while True:
        head, streams, _, _ = socket.recv_fds(channel, 4, 3)
        if not head:
            os._exit(0)  # whoever started programs has ended
        request = json.loads(_received(channel, int.from_bytes(head, "big")))
        read, write = os.pipe()
        between = os.fork()
        if between == 0:
            parent = os.getpid()
            if os.fork():
                os._exit(0)
            while os.getppid() == parent:  # until the orphan is adopted
                time.sleep(0)
            channel.close()
            os.close(read)
            if request["session"]:
                os.setsid()
            elif request["group"] >= 0:
                os.setpgid(0, request["group"])
            os.write(write, os.getpid().to_bytes(4, "big"))
            os.close(write)
            return request, streams
        os.close(write)
        for stream in streams:
            os.close(stream)
        os.waitpid(between, 0)
        pid = os.read(read, 4)
        os.close(read)
        channel.sendall(pid)


def become(request: dict[str, Any], streams: list[int]) -> None:
    """Make this process the program that was requested, and run it to its end."""
    for standard, stream in enumerate(streams):
        os.dup2(stream, standard)
    for stream in streams:
        os.close(stream)
    os.umask(request["umask"])
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    tempfile.tempdir = None  # found anew
    time.tzset()
    set_name("python")
    _open_streams(unbuffered="PYTHONUNBUFFERED" in request["environment"])
    signal.signal(signal.SIGINT, signal.SIG_IGN if request["ignored"] else signal.default_int_handler)
    global _server
    if request["module"] in OWN_STARTERS:
        _server = _own_server()
        install()
    signal.pthread_sigmask(signal.SIG_SETMASK, request["blocked"])
    sys.path[0] = request["folder"]
    sys.argv = ["", *request["arguments"]]
    _end(_run(request["module"]))


def _run(module: str) -> int:
    """Run a program to its end: the status that Python would end with, negative for a signal."""
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return ended.code or 0
        print(ended.code, file=sys.stderr)
        return 1
    except BaseException as error:  # noqa: BLE001 - as Python does
        sys.excepthook(type(error), error, error.__traceback__)
        return -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _end(status: int) -> None:
    """End as Python does, but without what libraries do when they are unloaded."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status & 0xFF)


def _open_streams(*, unbuffered: bool) -> None:
    """Python's standard streams, as a start opens them: by lines to a terminal, and at once where that is requested."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        raw = open(  # noqa: SIM115 - it stays open
            number, "rb" if number == 0 else "wb", buffering=0 if unbuffered else -1, closefd=False
        )
        former = getattr(sys, name)
        stream = io.TextIOWrapper(
            raw,
            encoding=former.encoding,
            errors=former.errors,
            line_buffering=number == 2 or os.isatty(number),
            write_through=unbuffered,
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _own_server() -> Server:
    """A server for what this program starts, forked from it before it begins."""
    ours, theirs = socket.socketpair()
    if os.fork():
        theirs.close()
        return Server(ours, os.environ)
    ours.close()
    set_name(NAME)
    _close_standard_streams()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    become(*serve(theirs))
    raise SystemExit


def _close_standard_streams() -> None:
    """Whoever reads what the program prints waits for the end of all that could print."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nothing, standard)
    os.close(nothing)


def import_everything() -> None:
    """Import what programs of Gemel import, now or later."""
    for name in PACKAGES:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not any(part in module.name for part in LEFT_OUT):
                importlib.import_module(module.name)
    share_kernels()
    gc.collect()
    gc.freeze()  # what is there now stays, and is not copied by the collector's marks
    # Ends of libraries that were imported here: one of polars 2.0 waits for threads that no fork has.
    atexit._clear()
    for end in (logging.shutdown, weakref.finalize._exitfunc):  # type: ignore[attr-defined]
        atexit.register(end)


if __name__ == "__main__":
    set_name(NAME)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Polars has threads of its own after its import, which no program needs that begins after the fork.
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    import_everything()
    become(*serve(socket.socket(fileno=int(sys.argv[1]))))
