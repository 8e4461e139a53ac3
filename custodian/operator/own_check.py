"""``gemel alice check``: everything that can be found wrong before a project needs it, a line each.

Of the records counts are shown and never a value. Carole is called once, which leaves nothing behind with her.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.parties import Party, Role
from gemel.common.pki.certificates import load_certificate
from gemel.common.pki.checks import utc_now
from gemel.common.pki.ending import ending
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.list_pin import ListPin
from gemel.common.rpc.call_metadata import TOLERANCE_SECONDS
from gemel.common.rpc.client import Connection
from gemel.common.rpc.tls import TlsFiles
from gemel.common.specification import Specification, load_specification, read_specification
from gemel.common.witnessing.log_reader import newest_checkpoint
from gemel.custodian.configuration import CustodianConfiguration, load_custodian
from gemel.custodian.operator.control import Control
from gemel.custodian.operator.service_probe import check_shown, shown_certificate
from gemel.custodian.source.source_check import check_records, check_source
from gemel.custodian.state.row_map import Keyring
from gemel.custodian.steps.held_memory import FileSize, needed_bytes
from gemel.custodian.steps.leakage_gate import load_gate
from gemel.records.registry import read_source
from gemel.records.sources import Source
from gemel.records.table import check_identifiers
from gemel.serving.check_lines import Checks, Note
from gemel.serving.machine_check import check_disks, check_memory, mib


def check_custodian(party: Party, config: Path, specification: Path | None) -> Checks:
    """Make every check of a custodian's installation.

    The records are compared with the specification; None: with what waits for this custodian's approval, if its service
    runs. Raises `GemelError`: CONFIGURATION if the configuration cannot be used: nothing can be checked then.
    """
    settings = load_custodian(config)
    checks = Checks()
    checks.run("configuration", lambda: str(config))
    _check_keys(checks, party, config, settings)
    _check_carole(checks, party, config, settings)
    _check_records(checks, party, config, settings, specification)
    checks.run("memory", lambda: check_memory(settings.limits.memory_bytes))
    checks.run("disk", lambda: check_disks({"state": settings.state, "results": settings.results}))
    checks.run("installation", _complete)
    return checks


def _complete() -> str:
    load_gate()
    return "complete"


def _check_keys(checks: Checks, party: Party, config: Path, settings: CustodianConfiguration) -> None:
    folder, pin = PartyFolder(settings.keys), ListPin(config.absolute())

    def certificate() -> str:
        TlsFiles.load(settings.keys, party.role)
        own = load_certificate(folder.certificate)
        if soon := ending(own, utc_now()):
            raise Note(f"{folder.certificate}: {soon}")
        return f"valid until {own.not_valid_after_utc:%Y-%m-%d}"

    def members() -> str:
        listed = pin.load(folder.members)
        if pin.digest is None:
            raise Note(f"{len(listed)} members; no `members_digest` pins the list that was compared")
        return f"{len(listed)} members, as compared"

    def keys() -> str:
        keyring = Keyring.load(settings, party, pin)
        return f"of {keyring.member.name}; the other custodian's identity is as configured"

    checks.run("certificate", certificate)
    checks.run("membership list", members)
    checks.run("keys", keys, needs=("certificate", "membership list"))


def _check_carole(checks: Checks, party: Party, config: Path, settings: CustodianConfiguration) -> None:
    address, pin = settings.carole.address, ListPin(config.absolute())
    ahead: list[float | None] = []
    shown = []

    def reached() -> str:
        shown.append(shown_certificate(address))
        return address

    def hers() -> str:
        check_shown(shown[0], pin.load(PartyFolder(settings.keys).members).in_role(Role.LINKER), address)
        return "as the membership list has it"

    def answers() -> str:
        keyring = Keyring.load(settings, party, pin)
        name = settings.carole.server_name or keyring.linker.server_name
        with Connection(address, name, keyring.tls.channel()) as connection:
            size = newest_checkpoint(connection, keyring.linker.identity).size
            ahead.append(connection.seconds_ahead)
        return f"admits {keyring.member.name}; her audit log has {size:,} entries"

    def clock() -> str:
        seconds = ahead[0]
        if seconds is None:
            raise Note("Carole sends no time")
        if abs(seconds) > TOLERANCE_SECONDS:
            off = f"{_duration(abs(seconds))} {'ahead of' if seconds > 0 else 'behind'}"
            what, got = f"this machine's clock is {off} Carole's", f"{utc_now():%Y-%m-%d %H:%M} UTC here"
            remedy = "set this clock by a time server; if it is right, tell Carole's operator"
            raise GemelError(ErrorCode.CERTIFICATE, what, got=got, remedy=remedy)
        return "as Carole's"

    checks.run("address", reached)
    checks.run("Carole's certificate", hers, needs=("address", "membership list"))
    checks.run("Carole", answers, needs=("Carole's certificate", "keys"))
    checks.run("clock", clock, needs=("Carole",))


def _check_records(
    checks: Checks, party: Party, config: Path, settings: CustodianConfiguration, specification: Path | None
) -> None:
    checks.run("source", lambda: check_source(settings.source))
    waiting: list[Specification] = []

    def specifications() -> str:
        if specification is not None:
            waiting.append(read_specification(specification))
            return f"{specification}: project {waiting[0].project}"
        try:
            with Control.open(config, party) as control:
                names = [each.project for each in control.status().projects if each.waits_for_operator]
                waiting.extend(load_specification(control.specification(name).text, name) for name in names)
        except GemelError as error:
            if error.code is not ErrorCode.UNAVAILABLE:
                raise
            raise Note("not compared: no service runs here; give --specification") from None
        return ", ".join(each.project for each in waiting) or "none waits for approval"

    checks.run("specification", specifications)
    for spec in waiting:
        sizes: list[FileSize] = []

        def records(spec: Specification = spec, sizes: list[FileSize] = sizes) -> str:
            size, words = check_records(settings.source, spec, party.side)
            sizes.append(FileSize(*size))
            return words

        def memory(spec: Specification = spec, sizes: list[FileSize] = sizes) -> str:
            needed, limit = needed_bytes(spec, sizes[0]), settings.limits.memory_bytes
            if needed > limit:
                what = f"signing these records does not fit into limits.memory of {mib(limit)}"
                remedy = "raise limits.memory, if the machine has more, or ask the coordinator for mode block_keyed"
                raise GemelError(ErrorCode.MEMORY, what, where=str(config), got=f"{mib(needed)} needed", remedy=remedy)
            return f"{mib(needed)} of {mib(limit)} needed"

        name = f"records for {spec.project}"
        checks.run(name, records, needs=("source",))
        checks.run(f"memory for {spec.project}", memory, needs=(name,))


def _duration(seconds: float) -> str:
    """In the largest unit that it fills."""
    for length, unit in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if (count := round(seconds / length, 1)) >= 1:
            return f"{count:g} {unit}{'' if count == 1 else 's'}"
    return f"{seconds:.0f} seconds"


# Attaching a custodian's own values to its links, on its own machine: labels and names never pass through Carole. Rows
# are in the order of their link ids, which are random; whoever may have both custodians' files joins them by `link_id`.

LINK_COLUMNS = ("link_id", "link_probability")


def attach(
    links: Path, source: Source, identifier: str, columns: Sequence[str], out: Path, *, keep_identifier: bool = False
) -> int:
    """Write the links with the selected columns of their records; returns how many links.

    `links` is ``links.parquet`` of the results folder, or the folder; `out` a new CSV or, by its suffix, Parquet file.
    Raises `GemelError`: NOT_FOUND if a link's record is no longer in the source; as reading the source; CONFIGURATION
    if the links cannot be read or the file cannot be written; EXISTS.
    """
    selected = list(dict.fromkeys(columns))
    if clash := [name for name in selected if name in LINK_COLUMNS]:
        raise parameter("--columns", "a column has the same name as one of the links", clash[0])
    linked = _read_links(links)
    table = read_source(source, [identifier, *selected])
    identifiers = check_identifiers(table, identifier)
    own = table.frame.select(identifiers.alias("identifier"), *(pl.col(name).alias(f"own {name}") for name in selected))
    joined = linked.join(own, on="identifier", how="left", validate="m:1").sort("link_id")
    gone = linked.join(own, on="identifier", how="anti").height
    if gone:
        what = "some linked records are no longer in the source"
        got = f"{gone} of {linked.height} links"
        remedy = "use the source as it was when its signatures were uploaded"
        raise GemelError(ErrorCode.NOT_FOUND, what, where=table.where, got=got, remedy=remedy)
    first = [pl.col("identifier")] if keep_identifier else []
    shown = joined.select(*first, *LINK_COLUMNS, *(pl.col(f"own {name}").alias(name) for name in selected))
    _write(shown, out)
    return shown.height


def _read_links(path: Path) -> pl.DataFrame:
    file = path / "links.parquet" if path.is_dir() else path
    try:
        frame = pl.read_parquet(file, columns=["identifier", *LINK_COLUMNS])
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        what = "this file does not hold the links of a result"
        got = type(error).__name__
        remedy = "give the run's folder below the results folder; `status` shows it"
        raise GemelError(ErrorCode.CONFIGURATION, what, where=str(file), got=got, remedy=remedy) from None
    return frame.with_columns(pl.col("identifier").cast(pl.String))


def _write(frame: pl.DataFrame, out: Path) -> None:
    """In its place at once: where a user keeps files there need be no hard links."""
    try:
        with open(out, "xb", opener=_own) as file:
            try:
                if out.suffix.lower() in (".parquet", ".pq"):
                    frame.write_parquet(file)
                else:
                    frame.write_csv(file)
            except BaseException:
                out.unlink(missing_ok=True)
                raise
    except FileExistsError:
        remedy = "give another name, or remove it"
        raise GemelError(ErrorCode.EXISTS, "the file exists already", where=str(out), remedy=remedy) from None
    except OSError as error:
        got = (error.strerror or "output error").lower()
        raise GemelError(ErrorCode.CONFIGURATION, "the file cannot be written", where=str(out), got=got) from None


def _own(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
