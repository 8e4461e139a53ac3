"""Where the parties' programs run in these tests: each in a network of its own, or each on a loopback address.

`Namespaces` gives every party a network namespace and links each of them to Carole's only: what
``deploy/compose.yaml`` promises. A party also sees the whole file system read-only but for its own folders.
`Loopback` needs no privilege: every party has a loopback address of its own.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gemel.common.parties import Role
from tests.ports import free_port

REPOSITORY = Path(__file__).resolve().parents[2]
DEPLOY = REPOSITORY / "deploy"
PARTIES = ("alice", "bob", "carole", "coordinator", "steward")
CALLERS = ("alice", "bob", "coordinator", "steward")
CUSTODIANS = ("alice", "bob")
SERVICES = ("carole", *CUSTODIANS)
COMMANDS = ("coordinator", "steward")
ROLES = {
    "alice": Role.CUSTODIAN_A,
    "bob": Role.CUSTODIAN_B,
    "carole": Role.LINKER,
    "coordinator": Role.COORDINATOR,
    "steward": Role.STEWARD,
}
PORTS = {"carole": 9464, "alice": 9465, "bob": 9466}
"""Of metrics and probes."""
NOBODY = " ".join(["0000"] * 16)
"""The fingerprint of the other custodian before the operators have made their call."""

_PREFIX = "gemel-test"
_NAMED = Path("/run/netns")
_FILES = Path("/etc/netns")


class Unavailable(Exception):
    """This machine does not permit such a site."""


def until(condition: Callable[[], object], *, seconds: float = 120.0, shown: Callable[[], object] = str) -> None:
    """Wait until it holds; after so many `seconds` the test fails with what is `shown`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, shown()
        time.sleep(0.05)


class Loopback:
    """All parties in this machine's own network, on 127.0.0.2 to 127.0.0.6."""

    isolated = False

    def __init__(self, root: Path) -> None:
        self.root = root
        self._port = free_port(self.host("carole"))

    def __enter__(self) -> Loopback:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def host(self, party: str) -> str:
        """The party's address."""
        return f"127.0.0.{PARTIES.index(party) + 2}"

    def localise(self, party: str, text: str) -> str:
        """A party's configuration, with its own address and Carole's."""
        carole = f"{self.host('carole')}:{self._port}"
        text = text.replace("carole:7443", carole).replace("0.0.0.0:7443", carole)
        text = text.replace("127.0.0.1:0 ", f"{self.host(party)}:0 ")
        # Metrics and probes too, on a port of their own that no other run of the tests has.
        port = free_port(self.host(party))
        return re.sub(r'"127\.0\.0\.1:946\d"', f'"{self.host(party)}:{port}"', text)

    def command(self, party: str, program: Sequence[str]) -> list[str]:
        """How to run a program as this party."""
        return list(program)

    @property
    def carole(self) -> str:
        """What Carole listens on."""
        return f"{self.host('carole')}:{self._port}"


class Namespaces:
    """Every party in a network namespace of its own, with one link to Carole's; see `Unavailable`."""

    isolated = True
    carole = "0.0.0.0:7443"

    def __init__(self, root: Path) -> None:
        self.root = root
        self._names = {party: f"{_PREFIX}-{os.getpid()}-{secrets.token_hex(3)}-{party}" for party in PARTIES}

    def __enter__(self) -> Namespaces:
        if os.geteuid() != 0 or shutil.which("ip") is None:
            raise Unavailable("network namespaces need root and the program `ip`")
        _remove_strays()
        try:
            self._make()
        except subprocess.CalledProcessError as error:
            self._remove()
            raise Unavailable(f"network namespaces are not permitted here: {error.stderr.strip()}") from None
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._remove()

    def host(self, party: str) -> str:
        """The party's address; Carole has another one on each link, of which this is Alice's."""
        return "10.99.0.1" if party == "carole" else f"10.99.{CALLERS.index(party)}.2"

    def localise(self, party: str, text: str) -> str:
        """A party's configuration: as it is. Names and ports mean the same in every network."""
        return text

    def command(self, party: str, program: Sequence[str]) -> list[str]:
        """How to run a program as this party: in its network, and able to write to its own folders only."""
        own = [self.root / "var/lib/gemel" / party, self.root / "run" / party]
        # Compiled kernels lie beside the code; the images keep them in NUMBA_CACHE_DIR instead.
        writable = " ".join(f"'{path}'" for path in (*own, REPOSITORY))
        confine = f'for p in {writable}; do mount --bind "$p" "$p"; done && mount -o remount,bind,ro / && exec "$@"'
        return ["ip", "netns", "exec", self._names[party], "sh", "-ec", confine, "sh", *program]

    def _make(self) -> None:
        _ip(*(f"netns add {name}" for name in self._names.values()))
        carole = self._names["carole"]
        lines = [f"-n {carole} link set lo up"]
        for number, caller in enumerate(CALLERS):
            name = self._names[caller]
            lines += [
                f"-n {name} link add carole type veth peer name {caller} netns {carole}",
                f"-n {name} address add 10.99.{number}.2/30 dev carole",
                f"-n {carole} address add 10.99.{number}.1/30 dev {caller}",
                f"-n {name} link set lo up",
                f"-n {name} link set carole up",
                f"-n {carole} link set {caller} up",
            ]
            files = _FILES / name
            files.mkdir(parents=True)
            (files / "hosts").write_text(f"127.0.0.1 localhost\n10.99.{number}.1 carole\n")
        _ip(*lines)
        for party in PARTIES:
            for folder in ("var/lib/gemel", "run"):
                (self.root / folder / party).mkdir(parents=True, exist_ok=True)
        _run(self.command("alice", ["true"]))

    def _remove(self) -> None:
        for name in self._names.values():
            _delete(name)


def _ip(*lines: str) -> None:
    for line in lines:
        _run(["ip", *line.split()])


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)


def _delete(name: str) -> None:
    if (_NAMED / name).exists():
        subprocess.run([shutil.which("ip") or "ip", "netns", "delete", name], check=False, capture_output=True)
    shutil.rmtree(_FILES / name, ignore_errors=True)


def _remove_strays() -> None:
    """Namespaces of test runs that were killed before they could clean up."""
    for folder in (_NAMED, _FILES):
        for stray in folder.glob(f"{_PREFIX}-*") if folder.is_dir() else ():
            owner = re.match(rf"{_PREFIX}-(\d+)-", stray.name)
            if owner and not Path(f"/proc/{owner[1]}").exists():
                _delete(stray.name)


def listening(pid: int, *, own: bool) -> set[tuple[str, int]]:
    """TCP sockets that listen, and UDP sockets that are bound, in the network of a process or only its `own`."""
    inodes = set()
    if own:
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            if match := re.fullmatch(r"socket:\[(\d+)\]", str(descriptor.readlink())):
                inodes.add(match[1])
    found = set()
    for table, state in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            columns = line.split()
            if columns[3] == state and (not own or columns[9] in inodes):
                address, _, port = columns[1].partition(":")
                found.add((_address(address), int(port, 16)))
    return found


def _address(digits: str) -> str:
    """An address of the kernel's tables. gRPC takes IPv4 on sockets of IPv6: they are shown as what was requested."""
    words = (digits[start : start + 8] for start in range(0, len(digits), 8))
    order = -1 if sys.byteorder == "little" else 1
    packed = b"".join(bytes.fromhex(word)[::order] for word in words)
    shown = socket.inet_ntop(socket.AF_INET if len(packed) == 4 else socket.AF_INET6, packed)
    return "0.0.0.0" if shown == "::" else shown.removeprefix("::ffff:")  # noqa: S104 - to compare with


def install(root: Path, site: Loopback | Namespaces, changes: Mapping[str, Mapping[str, str]]) -> dict[str, Path]:
    """Copy deploy/'s configurations under `root`; only the roots of their paths are changed, and `changes` by party."""
    placed = {}
    for party in PARTIES:
        text = site.localise(party, (DEPLOY / party / f"{party}.yaml").read_text(encoding="utf-8"))
        for folder in ("/etc/gemel", "/srv/gemel", "/var/lib/gemel"):
            text = text.replace(f"{folder}/{party}", f"{root}{folder}/{party}")
        for old, new in changes.get(party, {}).items():
            assert old in text
            text = text.replace(old, new)
        placed[party] = root / "etc/gemel" / party / f"{party}.yaml"
        placed[party].parent.mkdir(parents=True, exist_ok=True)
        placed[party].write_text(text, encoding="utf-8")
    return placed
