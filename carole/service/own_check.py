"""``gemel carole check``: everything that can be found wrong before she serves, a line each."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

from sqlalchemy.engine import make_url

from gemel.carole.cluster.engine_section import DaskEngine
from gemel.carole.cluster.tls import require_admitted
from gemel.carole.configuration import CaroleConfiguration, load_carole
from gemel.common.errors import ErrorCode, file_error
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.keys.wrapping_configuration import open_wrapper
from gemel.common.observability.settings import host_and_port
from gemel.common.parties import Role
from gemel.common.pki.certificates import load_certificate
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.list_pin import ListPin
from gemel.common.pki.reader import check_own
from gemel.common.rpc.tls import TlsFiles
from gemel.common.rpc.trust import Trust
from gemel.serving.check_lines import Checks, Note
from gemel.serving.machine_check import check_disks, check_memory


def check_carole(config: Path) -> Checks:
    settings = load_carole(config)
    checks = Checks()
    checks.run("configuration", lambda: str(config))
    _check_keys(checks, config, settings)
    checks.run("address", lambda: _listens(settings.listen))
    checks.run("memory", lambda: check_memory(settings.limits.memory_bytes))
    checks.run("store", lambda: _store(settings))
    checks.run("disk", lambda: check_disks(_folders(settings)))
    if isinstance(settings.engine, DaskEngine):
        engine = settings.engine

        def cluster() -> str:
            require_admitted(engine.address, engine)
            return f"the scheduler at {engine.address} admits her"

        checks.run("cluster", cluster)
    if settings.notify:

        def notify() -> str:
            for way in settings.notify:
                way.check()
            return f"{len(settings.notify)} receivers; `gemel carole try-notify` sends a trial"

        checks.run("notify", notify)
    return checks


def _check_keys(checks: Checks, config: Path, settings: CaroleConfiguration) -> None:
    folder, pin = PartyFolder(settings.keys), ListPin(config.absolute())

    def certificate() -> str:
        TlsFiles.load(settings.keys, Role.LINKER, members=settings.members)
        return f"valid until {load_certificate(folder.certificate).not_valid_after_utc:%Y-%m-%d}"

    def members() -> str:
        trust = Trust(folder.path, Role.LINKER, members=settings.members, pin=pin)
        if (soon := trust.ending()) is not None:
            raise Note(f"{len(trust.members)} members; {folder.certificate}: {soon}")
        return f"{len(trust.members)} members" + ("" if pin.digest is None else ", as compared")

    def keys() -> str:
        open_wrapper(settings.wrapping, folder.wrapping)
        identity = open_identity(settings.identity, folder.identity)
        listed = pin.load(settings.members or folder.members).in_role(Role.LINKER)
        held = {"identity": (identity.public,), "sealing": SealingKey.load(folder.sealing).publics}
        check_own(listed, held, str(folder.path))
        return f"of {listed.name}"

    checks.run("certificate", certificate)
    checks.run("membership list", members, needs=("certificate",))
    checks.run("keys", keys, needs=("membership list",))


def _listens(listen: str) -> str:
    """Whether she could listen there, or does."""
    host, port = host_and_port(listen)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise Note(f"{listen} is in use: by her, if she serves already") from None
            what = "she cannot listen at this address"
            remedy = "set `listen` to an address of this machine, such as 0.0.0.0:7443"
            raise file_error(ErrorCode.CONFIGURATION, what, Path(listen), error, remedy) from None
    return f"can listen on {listen}"


def _store(settings: CaroleConfiguration) -> str:
    """Whether there is a file of a database, where it is one; the database itself is opened by serving alone."""
    url = make_url(settings.store.database)
    if url.get_backend_name() != "sqlite":
        return "in a database of its own"
    if not Path(url.database or "").exists():
        raise Note(f"{url.database} is not there yet: `gemel carole init` makes it, or mount the volume that it is on")
    return str(url.database)


def _folders(settings: CaroleConfiguration) -> dict[str, Path]:
    """Of what she writes on this machine."""
    url, blobs = make_url(settings.store.database), settings.store.place
    found = {}
    if url.get_backend_name() == "sqlite":
        found["the database"] = Path(url.database or "").parent
    if isinstance(blobs, Path):
        found["the blobs"] = blobs
    return found
