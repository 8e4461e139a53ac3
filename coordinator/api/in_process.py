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


@dataclass(frozen=True)
class DecidedPairs:
    """Pairs that came near to a link.

    Attributes
    ----------
    row_a, row_b : ndarray of int64, shape (n_pairs,)
        Rows of the two files.
    probability : ndarray of float64, shape (n_pairs,)
    linked : ndarray of bool, shape (n_pairs,)
    draw, drawn : ndarray of int64, shape (n_drawn_links,)
        Number of the draw, and the pair, where linkages are drawn.
    """

    row_a: NDArray[np.int64]
    row_b: NDArray[np.int64]
    probability: NDArray[np.float64]
    linked: NDArray[np.bool_]
    draw: NDArray[np.int64]
    drawn: NDArray[np.int64]


def decided(linkage: Linkage, rows: tuple[NDArray[np.int64], NDArray[np.int64]]) -> DecidedPairs:
    """A linkage's pairs by rows of the two files."""
    linked = np.zeros(len(rows[0]), dtype=np.bool_)
    linked[linkage.links] = True
    none = np.empty(0, dtype=np.int64)
    draws = linkage.draws
    draw, drawn = (none, none) if draws is None else (draws.draw.astype(np.int64), draws.pair.astype(np.int64))
    return DecidedPairs(*rows, np.clip(linkage.pairs.link_probability, 0.0, 1.0), linked, draw, drawn)


_DIGEST = bytes(32)
"""In the place of the digests of requests that no one is sent."""


Sent = tuple[Encoded, int]
"""What a custodian would send and keep, and the number of its records."""

NamedRows = tuple[Sent, NDArray[np.int64]]
"""The same, and the row of its file of each pair."""


def link_block_keyed(
    alice: Sent, bob: Sent, spec: Specification, resources: Resources, progress: Progress, known: KnownRecords
) -> tuple[DecidedPairs, StatisticsDocument]:
    """Compare and decide."""
    plan = plan_of(spec)
    sides = alice, bob
    a, b = (contribution_of(encoded.sets, n_records) for encoded, n_records in sides)
    found, kept = compare(a, b, plan, resources, progress)
    warnings = near_copies_warnings(near_copies((a, b), plan, padded=spec.padding is not None))
    found = replace(found, warnings=(*found.warnings, *warnings))
    order = request_order(a, b, kept, spec.suite)
    # The rows of all rules come first, then those of the codes.
    rows_a, rows_b = (
        encoded.order[own[order]] for (encoded, _), own in zip(sides, (kept.row_a, kept.row_b), strict=True)
    )
    return resolved(found, order, (alice, rows_a), (bob, rows_b), plan, resources, progress, known)


def resolved(
    found: Candidates,
    order: NDArray[np.int64],
    alice: NamedRows,
    bob: NamedRows,
    plan: LinkagePlan,
    resources: Resources,
    progress: Progress,
    known: KnownRecords,
) -> tuple[DecidedPairs, StatisticsDocument]:
    """The custodians' answers and the resolver's decision, with its errors.

    `order`: which kept pair comes at each place of the request; `alice`, `bob`: what each has sent and kept, and the
    row of its file of the pair at each place.
    """
    request = ResolutionRequest(found, (_DIGEST, _DIGEST), resources.threads, known)
    read = unpack_request(pack_request(request, order), plan)
    handles = [
        _handles(encoded, row, n_records, values=plan.latent is not None) for (encoded, n_records), row in (alice, bob)
    ]
    rows = alice[1], bob[1]
    result = decide(read, handles[0], handles[1], plan, progress, "in process", resources.threads)
    at = result.order
    return decided(result.linkage, (rows[0][at], rows[1][at])), result.document


def _handles(encoded: Encoded, row: NDArray[np.int64], n_records: int, *, values: bool) -> ResolvedHandles:
    """The number of each pair's record: records' first, then decoys', then dummies', as a custodian reports them."""
    distinct, handle = np.unique(row, return_inverse=True)
    records = int(np.searchsorted(distinct, n_records))
    decoys = int(np.searchsorted(distinct, n_records + encoded.decoys)) - records
    reported = ResolvedHandles(handle.astype(np.int32), records, decoys=decoys)
    if not values:
        return reported
    (coded,) = (part for part in encoded.sets if part.rule == CODES)
    place = np.empty(n_records, dtype=np.int64)
    place[encoded.orders[CODES]] = np.arange(n_records)
    codes = {
        name: VariableCodes(variable.categories, variable.codes[place[distinct[:records]]])
        for name, variable in coded.variables.items()
    }
    return replace(reported, values=codes)


# A linkage of mode shared in one process: the custodians' shares, three parties in threads, the resolver's decision.
#
# Each party computes on its own two shares and sends what it would send between services. That they are in one process
# protects nothing: it gives the numbers, and not the secrecy.


def link_shared(
    alice: Sent, bob: Sent, spec: Specification, resources: Resources, progress: Progress, known: KnownRecords
) -> tuple[DecidedPairs, StatisticsDocument]:
    """Share, compare and decide; parameters as of `link_block_keyed`. Memory is that of all three parties."""
    found, named = compared_on_shares(alice, bob, spec, resources, progress)
    order = np.arange(len(found.pattern))
    return resolved(found, order, named[0], named[1], plan_of(spec), resources, progress, known)


def compared_on_shares(
    alice: Sent, bob: Sent, spec: Specification, resources: Resources, progress: Progress
) -> tuple[Candidates, tuple[NamedRows, NamedRows]]:
    """What Carole has found, and for each custodian what it has sent, in the order of its shares, with the record of
    each pair above the floor."""
    plan = plan_of(spec)
    shared = [shared_in_memory(encoded, spec, side) for (encoded, _), side in zip((alice, bob), Side, strict=True)]
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
    for side, own, (encoded, n_records) in zip(Side, shared, (alice, bob), strict=True):
        mine = replace(encoded, orders=own.orders)
        numbers = np.bitwise_xor.reduce([np.frombuffer(part, dtype="<u4") for part in parts[side]])
        named.append(((mine, n_records), mine.order[numbers]))
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


@dataclass(frozen=True)
class CustodianRecords:
    """One custodian's records, cleaned and signed."""

    identifiers: pl.Series = dataclass_field(repr=False)
    encoded: Encoded = dataclass_field(repr=False)

    @property
    def n_records(self) -> int:
        """Records of the file; rows after these are decoys and dummies."""
        return self.identifiers.len()


@dataclass(frozen=True)
class LinkedInProcess:
    """What came of it: the pairs by identifiers, as both custodians' shares together have them, and the statistics."""

    pairs: pl.DataFrame = dataclass_field(repr=False)
    draws: pl.DataFrame | None = dataclass_field(repr=False)
    statistics: StatisticsDocument = dataclass_field(repr=False)


def link_in_process(
    tables: Mapping[Side, SourceTable],
    spec: Specification,
    keys: Keys,
    resources: Resources,
    progress: Progress,
    known: Sequence[Path] = (),
) -> LinkedInProcess:
    """Link two tables as a specification says."""
    refuse_unidentified(spec)
    plan, started = plan_of(spec), time.perf_counter()
    sides = {side: _signed(table, spec, side, keys, resources) for side, table in tables.items()}
    alice, bob = (sides[side] for side in Side)
    seconds = {"read": time.perf_counter() - started}
    known_values = _known(known, spec, keys, plan)
    if spec.in_blocks:
        parts = [(side.encoded, side.n_records) for side in (alice, bob)]
        linked = link_shared if spec.mode == "shared" else link_block_keyed
        pairs, statistics = linked(parts[0], parts[1], spec, resources, progress, known_values)
    else:
        pairs, statistics = _whole(alice, bob, spec, plan, resources, progress, known_values, seconds)
    return _by_identifiers(pairs, alice, bob, statistics, drawn=spec.release.drawn > 0)


def _signed(table: SourceTable, spec: Specification, side: Side, keys: Keys, resources: Resources) -> CustodianRecords:
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
    return CustodianRecords(identifiers, encoded)


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
    alice: CustodianRecords,
    bob: CustodianRecords,
    spec: Specification,
    plan: LinkagePlan,
    resources: Resources,
    progress: Progress,
    known: KnownRecords,
    seconds: dict[str, float],
) -> tuple[DecidedPairs, StatisticsDocument]:
    """Modes open and trusted, as Carole's worker does it."""
    a, b = alice.encoded.sets[0], bob.encoded.sets[0]
    linkage = link(a, b, plan, resources, progress, known)
    records = records_and_decoys(a, spec.decoys)[0], records_and_decoys(b, spec.decoys)[0]
    warnings = (*linkage.warnings, *near_copies_warnings(near_copies(records, plan)))
    linkage = replace(linkage, warnings=warnings)
    rows = alice.encoded.order[linkage.pairs.row_a], bob.encoded.order[linkage.pairs.row_b]
    return decided(linkage, rows), findings(linkage, plan, resources, seconds)


def _by_identifiers(
    found: DecidedPairs, alice: CustodianRecords, bob: CustodianRecords, statistics: StatisticsDocument, *, drawn: bool
) -> LinkedInProcess:
    """The pairs of records with both identifiers; decoys and dummies have none."""
    real = (found.row_a < alice.n_records) & (found.row_b < bob.n_records)
    a, b = (
        side.identifiers.gather(np.where(real, rows, 0)) for side, rows in ((alice, found.row_a), (bob, found.row_b))
    )
    every = pl.DataFrame({"alice": a, "bob": b, "link_probability": found.probability, "linked": found.linked})
    pairs = every.filter(real).sort(["link_probability", "alice", "bob"], descending=[True, False, False])
    draws = None
    if drawn:
        of_draws = every.select("alice", "bob", "link_probability")[found.drawn].insert_column(
            0, pl.Series("draw", found.draw)
        )
        draws = of_draws.filter(real[found.drawn]).sort("draw", "alice", "bob")
    return LinkedInProcess(pairs, draws, statistics)
