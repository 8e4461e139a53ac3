"""What is a custodian's at the end of the ceremony: its records, read once, and its configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gemel.common.observability.settings import local, section
from gemel.common.parties import SIDE_OF_ROLE, Party
from gemel.common.pki.list_pin import pin_line
from gemel.custodian.source.source_check import check_source as check_source
from gemel.party.configurations import Joined
from gemel.records.sources import Source

_TEMPLATE = """\
# {title}'s service. It calls Carole; it answers only its own operator on this machine.
# Relative paths are relative to this file. `gemel {name} serve` runs it, `gemel {name} status` shows what it does.

carole:
  address: {address}
  # server_name: ...         # only if Carole's certificate was made by other means than `gemel`

keys: {keys}                      # certificate and keys of {title}; readable by this service only
{pin}
state: {state}                # the service's state; encrypted where it is secret; back it up
results: {results}            # {title}'s share of every result arrives here

# Where the records are: exactly one of csv, parquet, excel, statistical, fixed_width, fhir, omop, database
# (docs/records.md). Only the columns that an approved specification names are read.
source:
{source}
# origin: patient register of the county hospital, as of May   # stated with each approval, and in the audit log
# known_files: [training.csv]   # training records or a known joint distribution, which a specification names by digest

# The other custodian's identity, compared by telephone and never taken from Carole; `gemel {other} status` shows it.
peer:
  fingerprint: {peer}

operator:
  address: 127.0.0.1:0       # loopback only; port 0 takes a free one, which `gemel {name}` finds in the state folder

# Specifications that need no operator's approval, by their digest (`gemel spec check` prints it).
policy:
  approve: {approve}
  # modes: [open, block_keyed, shared, trusted]   # without it, mode trusted, which sends the values, waits for you
  # max_epochs: 2   # in how many epochs of a project you take part, 3 at most; each after the first waits for you

# A seed exchanged by hand, in place of the agreement through Carole (`gemel {name} seed new` makes one):
# seed_file: {name}.seed

limits:
  memory: 2GiB               # for the whole process, while records are read and signed

poll:
  wait_seconds: 5            # how long Carole may hold the request for a task
  retry_seconds: {retry}           # how soon to retry what failed; doubled each time, up to
  longest_retry_seconds: 60

{observability}"""

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
    records = (
        _EXAMPLES.format(name=party.name, data=data)
        if source is None
        else "\n".join(f"  {kind}: {json.dumps(settings)}" for kind, settings in source.items())
    )
    return _TEMPLATE.format(
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
