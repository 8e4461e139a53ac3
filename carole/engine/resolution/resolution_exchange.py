"""A resolver's part: reading the custodians' handles, deciding, and sealing what each custodian is shown.

By the coordinator's process, or by Carole where the specification lets her join rows. Both hold a sealing key of their
own, verify the custodians' signatures by the membership list, and check the content as far as possible.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field

import numpy as np

from gemel.carole.engine.decision.coded_links import GROUP, CodedLinks, coded_links
from gemel.carole.engine.documents.run_documents import findings
from gemel.carole.engine.latent.step import of_few_links, reported_joint, resolved_with_values
from gemel.carole.engine.resolution.padded import conclude_padded, shown_pairs
from gemel.carole.engine.resolution.resolution_request import ResolutionRequest
from gemel.carole.engine.resolution.resolution_result import ResolutionResult, pack_result
from gemel.carole.engine.run.contribution import malformed, pair_numbers
from gemel.carole.engine.run.plan import LinkagePlan, VariablePlan
from gemel.carole.engine.run.resources import Resources
from gemel.carole.engine.run.result import Linkage
from gemel.carole.engine.run.specified import plan_of
from gemel.common.arrays import I32, I64, U32
from gemel.common.documents.model_document import StatisticsDocument
from gemel.common.documents.result_warning import result_warning
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.sealing import SealContext
from gemel.common.parties import Side
from gemel.common.pki.members import Members
from gemel.common.pki.reader import Reader
from gemel.common.progress import Progress
from gemel.common.signatures.layout import CODES
from gemel.common.signatures.signature_sets import MISSING, SignatureSet, VariableCodes
from gemel.common.specification import Specification, specification_digest
from gemel.common.wire.resolved_share import KEY_BYTES, ResolvedShare, seal_share
from gemel.common.wire.row_handles import CODES_ROWS, DECOYS, HANDLES, RECORDS, VALUES, About, open_row_handles


def checked_handles(
    handles: U32, n_pairs: int, n_records: int, among: U32 | None = None, decoys: U32 | None = None, max_decoys: int = 0
) -> tuple[I32, int, int]:
    """A custodian's handles: one for each candidate pair, in the order of the request.

    Returns int32, shape (n_pairs,).
    """
    if len(handles) != n_pairs:
        raise malformed(f"{len(handles)} handles for {n_pairs} pairs")
    highest = int(handles.max(initial=0))
    if among is None:
        if n_pairs and highest >= n_records:
            raise malformed("a handle that is not below the number of records")
        return handles.astype(np.int32), highest + 1 if n_pairs else 0, 0
    if decoys is None:
        decoys = np.zeros(1, dtype=np.uint32)
    if len(among) != 1 or len(decoys) != 1 or int(among[0]) > n_records or int(decoys[0]) > max_decoys:
        raise malformed("more handles of records or decoys than possible")
    known = int(among[0]) + int(decoys[0])
    if highest >= known + max(1, n_pairs):
        raise malformed("more handles of dummies than possible")
    return handles.astype(np.int32), int(among[0]), int(decoys[0])


def checked_codes(codes: U32 | None, n: int, n_records: int) -> I32:
    """A custodian's row of codes of each handle's record, of which there are `n`."""
    if codes is None or len(codes) != n:
        raise malformed(f"{'no' if codes is None else len(codes)} rows of codes for {n} records")
    if n and int(codes.max()) >= n_records:
        raise malformed("a row of codes that is not below the number of records")
    if len(np.unique(codes)) != n:
        raise malformed("the same row of codes for two records")
    return codes.astype(np.int32)


def checked_values(values: U32 | None, n: int, variables: Sequence[VariablePlan]) -> dict[str, VariableCodes]:
    """A custodian's codes of each handle's record, of which there are `n`."""
    if values is None or len(values) != n * len(variables):
        raise malformed(f"{'no' if values is None else len(values)} codes for {n} records")
    table = values.reshape(n, len(variables))
    found = {}
    for column, variable in enumerate(variables):
        if n and int(table[:, column].max()) > variable.categories:
            raise malformed("a code that is not below the number of categories")
        found[variable.name] = VariableCodes(
            variable.categories, (table[:, column].astype(np.int32) - 1).astype(np.int16)
        )
    return found


def by_appearance(handles: I32, kinds: tuple[int, int]) -> I64:
    """The number of each handle in the order in which handles appear: random numbers become ones that can be had again.

    `handles` (int32, shape (n_pairs,)); `kinds`: so many handles, from 0, are of records, and so many from there on of
    decoys; those of each kind keep its range. Returns int64, shape (n_handles,): a permutation; handles that do not
    appear come last in their range.
    """
    n = max(int(handles.max(initial=-1)) + 1, sum(kinds))
    first = np.full(n, len(handles), dtype=np.int64)
    first[handles[::-1]] = np.arange(len(handles))[::-1]  # of several assignments the last, which is the earliest
    kind = np.searchsorted(np.cumsum(kinds), np.arange(n), side="right")
    number = np.empty(n, dtype=np.int64)
    number[np.lexsort((first, kind))] = np.arange(n)
    return number


MIN_PROBABILITY = 1e-3
"""Pairs less likely than this are left out of expected counts."""


@dataclass(frozen=True, repr=False)
class ResolvedHandles:
    """A custodian's handles, checked.

    `handles` (int32, shape (n_pairs,)): whose record each pair's row is; the first after those of `records` are of so
    many `decoys`; `codes` (int32, shape (records,)): row of each record in the set of codes, where the linked records
    are to be assessed; `values`: codes of each record by variable, where they are evidence too.
    """

    handles: I32
    records: int
    codes: I32 | None = None
    decoys: int = 0
    values: Mapping[str, VariableCodes] = dataclass_field(default_factory=dict)

    def by_appearance(self) -> ResolvedHandles:
        """The same under numbers that follow from the order of the pairs alone."""
        number = by_appearance(self.handles, (self.records, self.decoys))
        place = np.argsort(number[: self.records])  # records keep the first numbers
        codes = None if self.codes is None else self.codes[place]
        values = {name: replace(variable, codes=variable.codes[place]) for name, variable in self.values.items()}
        return replace(self, handles=number[self.handles].astype(np.int32), codes=codes, values=values)

    def of_file(self, n_records: int) -> SignatureSet:
        """The records as rows of a file of which nothing but codes is known, and of the rest nothing at all."""
        unknown = np.full(n_records - self.records, MISSING, dtype=np.int16)
        variables = {
            name: replace(variable, codes=np.append(variable.codes, unknown)) for name, variable in self.values.items()
        }
        return SignatureSet(CODES, n_records, {}, {}, variables)


def open_handles(
    reader: Reader, run: str, spec: Specification, request: ResolutionRequest, side: Side, sealed: bytes | memoryview
) -> ResolvedHandles:
    """A custodian's handles for the pairs of a request.

    Raises SEALED if they do not open; SIGNATURE if the custodian did not sign them for this reader, run, specification
    and request; UPLOAD_CORRUPT if they are invalid.
    """
    at = list(Side).index(side)
    about = About(
        project=spec.project,
        run=run,
        side=side,
        specification=specification_digest(spec),
        request=request.requested[at],
        reader=reader.name,
        key=reader.members.named(reader.name).sealing,
        suite=spec.suite,
    )
    reported = open_row_handles(reader.key, reader.members.in_role(side.role).identity, about, bytes(sealed))
    found = request.found
    n_records = (found.n_a, found.n_b)[at]
    none = np.empty(0, dtype=np.uint32)
    among = reported.get(RECORDS, none) if spec.padding is not None or spec.decoys else None
    of_decoys = reported.get(DECOYS, none) if spec.decoys else None
    handles, known, decoys = checked_handles(
        reported[HANDLES], len(found.pattern), n_records, among, of_decoys, spec.decoys
    )
    codes = None if spec.assessment is None else checked_codes(reported.get(CODES_ROWS), known, n_records)
    latent = plan_of(spec).latent
    values = {} if latent is None else checked_values(reported.get(VALUES), known, latent.held_by(str(side)))
    return ResolvedHandles(handles, known, codes, decoys, values)


@dataclass(frozen=True, repr=False)
class Resolved:
    """A request decided.

    `linkage`: of all pairs of the request, those of dummies and decoys among them; `order` (int64, shape (n_pairs,)):
    which pair of the request each of the linkage's pairs is; `coded`: the links by rows of codes, where they are
    assessed; `left_out`: matches expected among records' pairs that are no link.
    """

    linkage: Linkage
    order: I64
    document: StatisticsDocument
    coded: CodedLinks | None = None
    left_out: float = 0.0


def decide(
    request: ResolutionRequest,
    a: ResolvedHandles,
    b: ResolvedHandles,
    plan: LinkagePlan,
    progress: Progress,
    run: str,
    threads: int = 1,
) -> Resolved:
    """Decide a request, once it is known which rows are one record.

    `a`, `b`: Alice's and Bob's handles. Raises UPLOAD_CORRUPT if two pairs have the same two records. The same for the
    same pairs in the same order, whatever numbers custodians gave their records.
    """
    _refuse_repeated(a.handles, b.handles, run)
    a, b = a.by_appearance(), b.by_appearance()
    found = replace(request.found, threads=threads)
    if plan.latent is not None:  # a specification has no dummies and decoys beside it
        files = a.of_file(found.n_a), b.of_file(found.n_b)
        linkage, order = resolved_with_values(found, (a.handles, b.handles), files, plan, progress, request.known)
        if linkage.latent is not None and linkage.latent.joint is not None and of_few_links(linkage):
            linkage = replace(linkage, warnings=(*linkage.warnings, result_warning("joint_withheld", fewest=GROUP)))
        whole = linkage
    else:
        records, decoys = (a.records, b.records), (a.decoys, b.decoys)
        linkage, whole, order = conclude_padded(found, a.handles, b.handles, records, plan, progress, decoys)
    document = findings(linkage, plan, Resources(request.found.peak_bytes, request.threads), {})
    if a.codes is None or b.codes is None:
        return Resolved(whole, order, document)
    return Resolved(whole, order, document, coded_links(linkage, a.codes, b.codes), expected_elsewhere(linkage))


def sealed_result(
    resolved: Resolved, request: ResolutionRequest, spec: Specification, members: Members, run: str
) -> bytes:
    """The result for Carole: what she must know, and each custodian's share, which she cannot read.

    Raises NOT_FOUND if the membership list lacks a custodian; SEALED if sealing to its key fails.
    """
    key = secrets.token_bytes(KEY_BYTES)
    shares: dict[Side, bytes] = {}
    for side, digest in zip(Side, request.requested, strict=True):
        shown = shown_pairs(resolved.linkage, spec.release, side)
        if shown is None:
            continue
        place = resolved.order[shown.pair]
        ascending = np.argsort(place)
        share = ResolvedShare(
            digest, key, place[ascending].astype(np.uint32), shown.probability[ascending], shown.linked[ascending]
        )
        if shown.draws is not None:
            now = np.argsort(ascending)
            drawn = shown.draws.at(now[shown.draws.pair])
            share = replace(share, draw=drawn.draw.astype(np.uint32), drawn=drawn.pair.astype(np.uint32))
        member = members.in_role(side.role)
        shares[side] = seal_share(member.sealing, SealContext(spec.project, run, member.name, spec.suite), share)
    joint = reported_joint(resolved.linkage, spec)
    return pack_result(ResolutionResult(resolved.document, shares, resolved.coded, resolved.left_out, joint))


def expected_elsewhere(linkage: Linkage) -> float:
    """Matches expected among the candidate pairs that were not linked, to a tenth."""
    chance = np.clip(linkage.pairs.link_probability, 0.0, 1.0)
    chance[linkage.links] = 0.0
    return round(float(chance[chance >= MIN_PROBABILITY].sum()), 1)


def _refuse_repeated(a: I32, b: I32, run: str) -> None:
    """A request has no pair of records twice; handles that imply one are invalid."""
    pairs = np.sort(pair_numbers(a, b))
    if (pairs[1:] == pairs[:-1]).any():
        what = "the handles name the same two records for two candidate pairs"
        remedy = "ask the custodians whether an identifier of theirs is on several records, and start another run"
        raise GemelError(ErrorCode.UPLOAD_CORRUPT, what, where=f"run {run}", remedy=remedy)
