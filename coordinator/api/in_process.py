"""A linkage in one process, with the numbers that the three services have.

The records are read, cleaned, signed and compared by the code that the services run. What is left out is what protects
them from each other: nothing is sealed, nothing is sent, no gate is asked, and whoever calls has both files in clear.
So nothing of this is a proof of what a live linkage discloses; `gemel rehearse` runs the real services.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.carole.assessment.invented_records import near_copies_warnings
from gemel.carole.engine import Resources, compare, link
from gemel.carole.engine.decision.decoys import records_and_decoys
from gemel.carole.engine.documents.run_documents import findings
from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.inputs.files import contribution_of
from gemel.carole.engine.latent.refit import NOTHING_KNOWN, KnownRecords
from gemel.carole.engine.linkage.near_copies import near_copies
from gemel.carole.engine.pairs.shards import request_order
from gemel.carole.engine.resolution.resolution_exchange import ResolvedHandles, decide
from gemel.carole.engine.resolution.resolution_request import ResolutionRequest, pack_request, unpack_request
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.result import Linkage
from gemel.carole.engine.run.specified import plan_of, refuse_unidentified
from gemel.common.documents.model_document import StatisticsDocument
from gemel.common.keys.derivation import Seed
from gemel.common.keys.noise import NoiseKey
from gemel.common.parties import ComputeParty, Side
from gemel.common.progress import Progress
from gemel.common.signatures.layout import CODES
from gemel.common.signatures.signature_sets import VariableCodes
from gemel.common.specification import Specification
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.categories import known_set
from gemel.custodian.encoding.decoys import with_decoys
from gemel.custodian.encoding.records import Encoded, encode_records
from gemel.custodian.encoding.shared_in_memory import shared_in_memory
from gemel.custodian.source.cleaned_file import compared_columns
from gemel.custodian.source.known_file import read_known_files
from gemel.records.table import SourceTable, check_identifiers
from gemel.shared.gates.party import Party
from gemel.shared.run.job import RowParts, Terms, assist, lead
from gemel.shared.run.shared_files import compare_opened
from gemel.shared.session.local_session import local_parties, together

_DIGEST = bytes(32)
"""In the place of the digests of requests that no one is sent."""


Rows = NDArray[np.int64]
NamedRows = tuple[tuple[Encoded, Rows], tuple[Encoded, Rows]]
"""Of Alice and of Bob: what each would send and keep, and the row of its file of each pair."""
Decided = tuple[Linkage, tuple[Rows, Rows], StatisticsDocument]
"""What was decided, the row of either file of each of its pairs, and the statistics."""


def _compared_in_blocks(
    alice: Encoded, bob: Encoded, spec: Specification, resources: Resources, progress: Progress
) -> tuple[Candidates, Rows, NamedRows]:
    """What Carole has found, which kept pair comes at each place of her request, and the records of each place."""
    plan = plan_of(spec)
    a, b = (contribution_of(encoded.sets, encoded.records) for encoded in (alice, bob))
    found, kept = compare(a, b, plan, resources, progress)
    warnings = near_copies_warnings(near_copies((a, b), plan, padded=spec.padding is not None))
    found = replace(found, warnings=(*found.warnings, *warnings))
    order = request_order(a, b, kept, spec.suite)
    # The rows of all rules come first, then those of the codes.
    return found, order, ((alice, alice.order[kept.row_a[order]]), (bob, bob.order[kept.row_b[order]]))


def _resolved(
    found: Candidates,
    order: Rows,
    named: NamedRows,
    plan: LinkagePlan,
    resources: Resources,
    progress: Progress,
    known: KnownRecords,
) -> Decided:
    """The custodians' answers and the resolver's decision, with its errors."""
    request = ResolutionRequest(found, (_DIGEST, _DIGEST), resources.threads, known)
    read = unpack_request(pack_request(request, order), plan)
    a, b = (_handles(encoded, rows, values=plan.latent is not None) for encoded, rows in named)
    result = decide(read, a, b, plan, progress, "in process", resources.threads)
    (_, rows_a), (_, rows_b) = named
    return result.linkage, (rows_a[result.order], rows_b[result.order]), result.document


def _handles(encoded: Encoded, row: Rows, *, values: bool) -> ResolvedHandles:
    """The number of each pair's record: records' first, then decoys', then dummies', as a custodian reports them."""
    distinct, handle = np.unique(row, return_inverse=True)
    records = int(np.searchsorted(distinct, encoded.records))
    decoys = int(np.searchsorted(distinct, encoded.records + encoded.decoys)) - records
    reported = ResolvedHandles(handle.astype(np.int32), records, decoys=decoys)
    if not values:
        return reported
    (coded,) = (part for part in encoded.sets if part.rule == CODES)
    place = np.empty(encoded.records, dtype=np.int64)
    place[encoded.orders[CODES]] = np.arange(encoded.records)
    codes = {
        name: VariableCodes(variable.categories, variable.codes[place[distinct[:records]]])
        for name, variable in coded.variables.items()
    }
    return replace(reported, values=codes)


# A linkage of mode shared in one process: the custodians' shares, three parties in threads, the resolver's decision.
#
# Each party computes on its own two shares and sends what it would send between services. That they are in one process
# protects nothing: it gives the numbers, and not the secrecy.


def compared_on_shares(
    alice: Encoded, bob: Encoded, spec: Specification, resources: Resources, progress: Progress
) -> tuple[Candidates, NamedRows]:
    """What Carole has found, and the record of each pair above the floor, of what is in the order of its shares.

    Memory is that of all three parties.
    """
    plan = plan_of(spec)
    shared = [shared_in_memory(encoded, spec, side) for encoded, side in zip((alice, bob), Side, strict=True)]
    terms = Terms(b"in one process", plan, resources.memory_bytes // len(ComputeParty))

    def assisting(party: Party) -> None:
        a, b = (part.contributions[party.own] for part in shared)
        assist(party, (a, b), terms, _first_share, lambda stage, done: None)

    def leading(party: Party) -> tuple[Candidates, RowParts]:
        a, b = (part.contributions[party.own] for part in shared)
        led = lead(party, (a, b), terms, _first_share, progress)
        found, _ = compare_opened(led, plan, resources, progress)
        return found, led.parts

    steps: tuple[Callable[[Party], tuple[Candidates, RowParts] | None], ...]
    steps = leading, assisting, assisting
    result, _, _ = together(local_parties(), *steps)
    assert result is not None  # noqa: S101 - of Carole's part
    found, parts = result
    named = []
    for side, own, encoded in zip(Side, shared, (alice, bob), strict=True):
        mine = replace(encoded, orders=own.orders)
        numbers = np.bitwise_xor.reduce([np.frombuffer(part, dtype="<u4") for part in parts[side]])
        named.append((mine, mine.order[numbers]))
    return found, (named[0], named[1])


def _first_share(side: Side, first: NDArray[np.uint32], second: NDArray[np.uint32]) -> bytes:
    """A party's part of row numbers, for whoever has all three: nothing is sealed in one process."""
    return first.astype("<u4").tobytes()


EPOCH = 1


@dataclass(frozen=True)
class Keys:
    """What signatures are made with: the seed that custodians agree, and the noise key that each has of its own.

    A linkage in one process has throw-away keys that follow from a number. With the keys of a live linkage, whose
    custodians have them, it repeats that linkage's numbers.
    """

    seed: Seed = dataclass_field(repr=False)
    noise: Mapping[Side, NoiseKey] = dataclass_field(repr=False)

    @classmethod
    def of_number(cls, number: int) -> Keys:
        """Keys for a trial, the same for the same number: anyone can have them."""

        def drawn(what: str) -> bytes:
            return hashlib.sha256(f"gemel.link {number} {what}".encode()).digest()

        return cls(Seed(drawn("seed")), {side: NoiseKey(drawn(str(side))) for side in Side})


def link_in_process(
    tables: Mapping[Side, SourceTable],
    spec: Specification,
    keys: Keys,
    resources: Resources,
    progress: Progress,
    known: Sequence[Path] = (),
) -> tuple[pl.DataFrame, pl.DataFrame | None, StatisticsDocument]:
    """Link two tables as a specification says.

    The pairs by identifiers, as both custodians' shares together have them; the drawn linkages, if any; the statistics.
    """
    refuse_unidentified(spec)
    plan, started = plan_of(spec), time.perf_counter()
    (ids_a, alice), (ids_b, bob) = (_signed(tables[side], spec, side, keys, resources) for side in Side)
    seconds = {"read": time.perf_counter() - started}
    known_values = _known(known, spec, keys, plan)
    if not spec.in_blocks:
        decided = _whole(alice, bob, spec, plan, resources, progress, known_values, seconds)
    else:
        if spec.mode == "shared":
            found, named = compared_on_shares(alice, bob, spec, resources, progress)
            order = np.arange(len(found.pattern))
        else:
            found, order, named = _compared_in_blocks(alice, bob, spec, resources, progress)
        decided = _resolved(found, order, named, plan, resources, progress, known_values)
    linkage, rows, statistics = decided
    return *_by_identifiers(linkage, rows, (ids_a, ids_b)), statistics


def _signed(
    table: SourceTable, spec: Specification, side: Side, keys: Keys, resources: Resources
) -> tuple[pl.Series, Encoded]:
    """A custodian's identifiers, and its records cleaned and signed."""
    own = spec.custodians.of(side).identifier
    identifiers = check_identifiers(table, own)
    columns = table.frame.select(compared_columns(spec, side))
    cleaned = clean(columns, spec, side, table.places)
    fields = cleaned.columns
    if spec.decoys:
        fields = with_decoys(fields, spec, keys.noise[side])
    encoded = encode_records(
        fields, spec, keys.seed, EPOCH, noise=keys.noise[side], variables=cleaned.variables, decoys=spec.decoys,
        threads=resources.threads,
    )  # fmt: skip
    return identifiers, encoded


def _known(paths: Sequence[Path], spec: Specification, keys: Keys, plan: LinkagePlan) -> KnownRecords:
    if plan.latent is None:
        return NOTHING_KNOWN
    sets = [
        known_set(each.places, each.counts, spec, keys.seed, EPOCH)
        for side in Side
        for each in read_known_files(paths, spec, side)
    ]
    return KnownRecords.of(sets, plan.latent)


def _whole(
    alice: Encoded,
    bob: Encoded,
    spec: Specification,
    plan: LinkagePlan,
    resources: Resources,
    progress: Progress,
    known: KnownRecords,
    seconds: dict[str, float],
) -> Decided:
    a, b = alice.sets[0], bob.sets[0]
    linkage = link(a, b, plan, resources, progress, known)
    records = records_and_decoys(a, spec.decoys)[0], records_and_decoys(b, spec.decoys)[0]
    warnings = (*linkage.warnings, *near_copies_warnings(near_copies(records, plan)))
    linkage = replace(linkage, warnings=warnings)
    rows = alice.order[linkage.pairs.row_a], bob.order[linkage.pairs.row_b]
    return linkage, rows, findings(linkage, plan, resources, seconds)


def _by_identifiers(
    linkage: Linkage, rows: tuple[Rows, Rows], identifiers: tuple[pl.Series, pl.Series]
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """The pairs of two records, and the links of each draw; what a decoy or a dummy is in is left out."""
    real = (rows[0] < identifiers[0].len()) & (rows[1] < identifiers[1].len())
    a, b = (own.gather(np.where(real, row, 0)) for own, row in zip(identifiers, rows, strict=True))
    linked = np.zeros(len(real), dtype=np.bool_)
    linked[linkage.links] = True
    probability = np.clip(linkage.pairs.link_probability, 0.0, 1.0)
    every = pl.DataFrame({"alice": a, "bob": b, "link_probability": probability, "linked": linked})
    pairs = every.filter(real).sort(["link_probability", "alice", "bob"], descending=[True, False, False])
    if linkage.draws is None:
        return pairs, None
    draw, pair = linkage.draws.draw.astype(np.int64), linkage.draws.pair.astype(np.int64)
    links = every.select("alice", "bob", "link_probability")[pair].insert_column(0, pl.Series("draw", draw))
    return pairs, links.filter(real[pair]).sort("draw", "alice", "bob")
