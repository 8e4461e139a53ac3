"""What is a custodian's at the end of the ceremony: its records, read once, and its configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gemel.common.observability.settings import local, section
from gemel.common.parties import SIDE_OF_ROLE, Party
from gemel.common.pki.list_pin import pin_line
from gemel.custodian.source.source_check import check_source as check_source
from gemel.party.configurations import Joined
from gemel.records.sources import Source

_TEMPLATE = Path(__file__).with_name("template.yaml")

_EXAMPLES = """\
  csv:
    path: {data}{name}.csv
    encoding: utf-8          # or latin-1, cp1252, utf-16, ...; `detect` finds it, and the profile states it
    separator: ","
  # parquet:
  #   path: {data}{name}.parquet
  # database:
  #   url_file: {data}database.url   # mode 0600, one line: postgresql+psycopg://user:password@host/database
  #   query: SELECT * FROM people"""


def custodian_yaml(
    party: Party,
    *,
    carole: str,
    peer_fingerprint: str,
    source: Mapping[str, Mapping[str, Any]] | None = None,
    data: str = "",
    approve: tuple[str, ...] = (),
    keys: str = ".",
    state: str = "state",
    results: str = "results",
    retry_seconds: float = 5,
    listen: str = "",
    allow_remote: bool = False,
    members_digest: str = "",
) -> str:
    """The text of a custodian's configuration file.

    `carole`: her address, host:port; `peer_fingerprint`: of the other custodian's identity, in any grouping; `source`:
    The `source` section; by default a CSV file in the folder `data`, with the other kinds as comments; `data`: A
    folder, relative to the file or absolute, with a slash at its end; by default the file's own; `approve`: digests of
    specifications to approve without the operator; `listen`, `allow_remote`: IP:port of its metrics and probes, and
    whether other machines may reach that; none by default; `members_digest`: of the membership list, in any grouping,
    where it is known already.
    """
    # JSON is YAML, and quotes whatever could be read as something else.
    records = _EXAMPLES.format(name=party.name, data=data)
    if source is not None:
        records = "\n".join(f"  {kind}: {json.dumps(settings)}" for kind, settings in source.items())
    return (
        _TEMPLATE.read_text(encoding="utf-8")
        .removesuffix("\n")
        .format(
            title=party.title,
            name=party.name,
            other=party.side.other,
            address=json.dumps(carole),
            keys=keys if keys == "." else json.dumps(keys),
            pin=pin_line(members_digest),
            state=json.dumps(state) if state != "state" else state,
            results=json.dumps(results) if results != "results" else results,
            source=records,
            peer=json.dumps(peer_fingerprint),
            approve=json.dumps(list(approve)),
            retry=json.dumps(retry_seconds),
            observability=section(listen, allow_remote=allow_remote),
        )
    )


def configure(joined: Joined) -> str:
    """The text of ``alice.yaml`` or ``bob.yaml``."""
    place = joined.place
    assert joined.source is not None  # noqa: S101 - `joining` requires one of a custodian
    side = SIDE_OF_ROLE[place.role]
    chosen = joined.source.chosen
    kind = next(name for name in Source.model_fields if getattr(joined.source, name) is chosen)
    return custodian_yaml(
        Party(side, side.title()),
        carole=joined.membership.carole,
        peer_fingerprint=joined.membership.members.in_role(side.other.role).identity.fingerprint,
        source={kind: chosen.model_dump(mode="json", exclude_none=True)},
        keys="keys",
        state=place.below("state"),
        results=place.below("results"),
        listen=local(str(side)),
        members_digest=joined.members_digest,
    )


def complete(joined: Joined) -> str:
    """Nothing: the service makes its state when it first starts."""
    return ""
