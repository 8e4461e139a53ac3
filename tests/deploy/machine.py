"""A machine of an organisation: systemd as process 1 in a root folder of its own, on the machine that runs the tests.

Nothing of the tests' machine is reachable from it but ``/usr`` and the packages of the tests' environment, both
read-only: it has namespaces of its own for mounts, processes, host name, IPC and control groups, a network that only
machines of the same test share, and neither the capabilities nor the writable ``/proc/sys`` and ``/sys`` with which it
could change what all share. Process 1 dies with the process that runs the tests, and with it all others and all mounts.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

from tests.deploy.sites import Unavailable

SYSTEMD = Path("/usr/lib/systemd/systemd")
PATIENCE = 60.0
_NEEDED = ("unshare", "nsenter", "setpriv", "mount", "pivot_root", "systemctl", "systemd-sysusers", "useradd")
_PATH = "/opt/python/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"
_PREFIX = "gemel-test-machine"

_ASSEMBLE = """
folder=$1 group=$2 python=$3 packages=$4
if [ "$5" = outer ]; then
    mount -t tmpfs -o mode=0755 tmpfs "$folder/root"
    cd "$folder/root"
    mkdir usr etc var opt srv home dev proc sys run tmp root before
    ln -s usr/bin bin; ln -s usr/sbin sbin; ln -s usr/lib lib; ln -s usr/lib64 lib64
    mount --bind /usr usr; mount -o remount,bind,ro usr
    mount --bind "$folder/disk/usr-local" usr/local
    for name in etc var opt srv home; do mount --bind "$folder/disk/$name" $name; done
    mount --bind "$python" opt/python; mount -o remount,bind,ro opt/python
    mount --bind "$packages" opt/packages; mount -o remount,bind,ro opt/packages
    mount -t proc proc proc
    mount --bind proc/sys proc/sys; mount -o remount,bind,ro proc/sys
    [ ! -e proc/sysrq-trigger ] || mount --bind /dev/null proc/sysrq-trigger
    mount -t sysfs -o ro sysfs sys
    mount -t tmpfs -o mode=1777 tmpfs tmp
    mount -t tmpfs -o mode=0755 tmpfs run
    mount -t tmpfs -o mode=0755 tmpfs dev
    for name in null zero full random urandom tty; do : > dev/$name; mount --bind /dev/$name dev/$name; done
    mkdir dev/shm dev/pts; mount -t tmpfs -o mode=1777 tmpfs dev/shm
    mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts; ln -s pts/ptmx dev/ptmx
    ln -s /proc/self/fd dev/fd
    mount -t cgroup2 cgroup2 sys/fs/cgroup
    mkdir sys/fs/cgroup/$group
    echo 0 > sys/fs/cgroup/$group/cgroup.procs
    umount sys/fs/cgroup
    exec unshare --cgroup sh -euc "$ASSEMBLE" sh "$1" "$2" "$3" "$4" inner
fi
cd "$folder/root"
mount -t cgroup2 cgroup2 sys/fs/cgroup
hostname "$(cat etc/hostname)"
pivot_root . before
umount -l /before
[ -e /etc/ld.so.cache ] || /usr/sbin/ldconfig
exec setpriv --bounding-set -sys_boot,-sys_time,-sys_module,-sys_rawio,-syslog,-mac_admin,-mac_override,-mknod \\
    env -i container=test PATH=/usr/sbin:/usr/bin LANG=C.UTF-8 \\
    /usr/lib/systemd/systemd --system --unit=multi-user.target --show-status=no
"""
"""Run as root in new namespaces, as their process 1, which it leaves to systemd."""

_SUDO = """#!/bin/sh
# For `sudo -u USER COMMAND`, in whose place a machine that runs tests may have nothing.
user=$2; shift 2
home=$(getent passwd "$user" | cut -d: -f6)
exec setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups env "HOME=$home" "$@"
"""


class Failed(Exception):
    """A command on a machine ended with an error."""


class Machine:
    """One organisation's machine; its disk stays when it is switched off.

    Parameters
    ----------
    name
        Its host name.
    folder
        Where its disk is kept; made.
    neighbour
        A running machine whose network it shares; none makes a network of its own.
    """

    def __init__(self, name: str, folder: Path, neighbour: Machine | None = None) -> None:
        self.name = name
        self.disk = folder / "disk"
        self._folder = folder
        self._neighbour = neighbour
        self._group = f"{_PREFIX}-{os.getpid()}-{secrets.token_hex(3)}-{name}"
        self._process: subprocess.Popen[bytes] | None = None
        self._make()

    def _make(self) -> None:
        (self._folder / "root").mkdir(parents=True)
        for part in ("etc/systemd/system", "var/log/journal", "opt/python", "opt/packages", "srv", "home"):
            (self.disk / part).mkdir(parents=True)
        (self.disk / "usr-local/bin").mkdir(parents=True)
        (self.disk / "var/run").symlink_to("/run")
        etc = self.disk / "etc"
        for name in ("passwd", "group", "nsswitch.conf", "login.defs"):
            if Path("/etc", name).exists():
                shutil.copy(Path("/etc", name), etc / name)
        (etc / "shadow").touch(0o600)
        (etc / "fstab").touch()
        # Python's own library first: the distribution may have another one of the same name.
        (etc / "ld.so.conf").write_text(f"/opt/python/lib\n/usr/lib/{sys.implementation._multiarch}\n")
        (etc / "hostname").write_text(f"{self.name}\n")
        (etc / "hosts").write_text("127.0.0.1 localhost\n")
        # An identity of its own: without one, systemd takes it for a first start and enables whatever it finds.
        (etc / "machine-id").write_text(f"{secrets.token_hex(16)}\n")
        # Of the units that a distribution starts at every boot, the journal alone.
        for link in Path("/usr/lib/systemd/system").glob("*.wants/*"):
            masked = etc / "systemd/system" / link.name
            if not link.name.startswith("systemd-journald") and not masked.is_symlink():
                masked.symlink_to("/dev/null")
        sudo = self.disk / "usr-local/bin/sudo"
        sudo.write_text(_SUDO)
        sudo.chmod(0o755)

    def start(self) -> None:
        """Switch it on; returns when systemd has started what is enabled.

        Raises
        ------
        Unavailable
            If this machine does not permit it.
        """
        network = ["--net"] if self._neighbour is None else []
        packages = sysconfig.get_path("purelib")
        command = ["setpriv", "--pdeathsig", "KILL", "unshare", *network, "--mount", "--pid", "--fork", "--kill-child"]
        command += ["--uts", "--ipc", "sh", "-euc", _ASSEMBLE, "sh"]
        command += [str(self._folder), self._group, sys.base_prefix, packages, "outer"]
        if self._neighbour is not None:
            command = ["nsenter", "--net", "--target", str(self._neighbour.first), *command]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, "ASSEMBLE": _ASSEMBLE}
            )
        deadline = time.monotonic() + PATIENCE
        while True:
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise Unavailable(f"systemd does not start here: {(self._folder / 'log').read_text()[-300:]}")
            with contextlib.suppress(Failed, IndexError, FileNotFoundError):
                if self.run("systemctl is-system-running || true").strip() in ("running", "degraded"):
                    return
            time.sleep(0.05)

    @property
    def first(self) -> int:
        """Its process 1, as this machine numbers it."""
        assert self._process is not None
        # `unshare` forks once; what it forked is process 1.
        return int(Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()[0])

    def run(self, script: str, *, cwd: str = "/", seconds: float = 120.0) -> str:
        """What a shell of root on it prints, standard error too.

        Raises
        ------
        Failed
            If it ends with an error.
        """
        inside = ["nsenter", "--target", str(self.first), "--all", "--root", "--wd", "--"]
        # Nothing is downloaded: what pip would fetch is there already.
        environment = [f"PATH={_PATH}", "LANG=C.UTF-8", "COLUMNS=200", "PIP_NO_INDEX=1", "PIP_NO_CACHE_DIR=1"]
        ran = subprocess.run(
            [*inside, "env", "-i", *environment, "sh", "-euc", f"cd {shlex.quote(cwd)}; {script}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=seconds,
        )
        if ran.returncode != 0:
            raise Failed(f"{self.name}: {script}: status {ran.returncode}: {ran.stdout}")
        return ran.stdout

    def stop(self) -> None:
        """Cut its power: whatever runs on it is gone, and what is on its disk stays."""
        if self._process is not None:
            with contextlib.suppress(IndexError, FileNotFoundError, ProcessLookupError):
                os.kill(self.first, 9)
            self._process.kill()
            self._process.wait()
            self._process = None
        _remove_group(self._group)

    def provide(self, lock: str, environment: str) -> None:
        """Link the packages of a lock into an environment on it, from the environment that runs the tests.

        Raises
        ------
        AssertionError
            If the tests' environment has another version of one of them.
        """
        from importlib.metadata import distribution

        folder = self.disk / environment.lstrip("/") / f"lib/python3.{sys.version_info.minor}/site-packages"
        for old in (*folder.glob("setuptools*"), *folder.glob("pkg_resources"), *folder.glob("*distutils*")):
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        for requirement in requirements(lock):
            found = distribution(requirement.name)
            assert found.version in requirement.specifier, f"{requirement}: the tests run with {found.version}"
            for top in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
                if not (folder / top).is_symlink():
                    (folder / top).symlink_to(f"/opt/packages/{top}")


def requirements(lock: str) -> Iterator[Requirement]:
    """What a lock installs on this machine."""
    for line in lock.replace("\\\n", " ").splitlines():
        requirement = Requirement(line.partition(" --hash")[0])
        if requirement.marker is None or requirement.marker.evaluate():
            yield requirement


def require() -> None:
    """Refuse a machine on which none of this is possible.

    Raises
    ------
    Unavailable
        With the reason.
    """
    if os.geteuid() != 0:
        raise Unavailable("a machine with a systemd of its own needs root")
    missing = [name for name in _NEEDED if shutil.which(name) is None]
    if missing or not SYSTEMD.exists():
        raise Unavailable(f"this machine lacks {', '.join(missing) or SYSTEMD}")
    if not _groups().is_dir():
        raise Unavailable("this machine has no control groups of version 2")
    if Path(sysconfig.get_path("purelib")).stat().st_mode & 0o005 != 0o005:
        raise Unavailable("the packages of the tests' environment may be read by its owner only")
    _remove_strays()


def _groups() -> Path:
    """Where control groups of version 2 are mounted."""
    unified = Path("/sys/fs/cgroup/unified")
    return unified if unified.is_dir() else Path("/sys/fs/cgroup")


def _remove_group(name: str) -> None:
    deadline = time.monotonic() + PATIENCE
    whole = _groups() / name
    while whole.is_dir() and time.monotonic() < deadline:
        for folder, _, _ in os.walk(whole, topdown=False):
            # A process that is being ended holds its group for a moment.
            with contextlib.suppress(OSError):
                Path(folder).rmdir()
        if whole.is_dir():
            time.sleep(0.05)


def _remove_strays() -> None:
    """Groups of test runs that were killed before they could clean up; their processes died with them."""
    for stray in _groups().glob(f"{_PREFIX}-*"):
        if not Path("/proc", stray.name.removeprefix(f"{_PREFIX}-").partition("-")[0]).exists():
            _remove_group(stray.name)
