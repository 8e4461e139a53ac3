"""What many tests of the engine do: link, read the links, change a set, and compare in mode block_keyed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.modes import NOISE
from gemel.carole.engine import Candidates, Contribution, Linkage, LinkagePlan, Resources, compare, link
from gemel.carole.engine.inputs.files import BlockKeyedFiles, contribution_of
from gemel.carole.engine.linkage.local import Run
from gemel.carole.engine.pairs.linkage_input import LinkageInput
from gemel.carole.engine.pairs.stream import KeptPairs
from gemel.carole.engine.resolution.resolution_request import ResolutionRequest, pack_request, unpack_request
from gemel.carole.engine.run.resources import MemoryBudget, RunContext, ThreadedUnits
from gemel.carole.engine.run.result import ScoredPairs
from gemel.carole.engine.run.specified import plan_of
from gemel.carole.fellegi_sunter.schemes import FittedScheme
from gemel.common.keys.derivation import Seed
from gemel.common.keys.noise import NoiseKey
from gemel.common.parties import Side
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.specification import Specification
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.decoys import with_decoys
from gemel.custodian.encoding.records import Encoded, encode_records
from tests.carole.engine.progress import quiet

ENOUGH = Resources(memory_bytes=1 << 30, threads=2)
SEED = Seed(bytes(range(32)))
DIGESTS = bytes(32), bytes(32)


def run(a: SignatureSet, b: SignatureSet, plan: LinkagePlan, **more: Any) -> Linkage:
    return link(a, b, plan, ENOUGH, quiet, **more)


def compared(files: LinkageInput, plan: LinkagePlan) -> tuple[Candidates, KeptPairs, FittedScheme]:
    """The first half of a run of whole files."""
    with ThreadPoolExecutor(2) as pool:
        return Run(files, plan, ENOUGH, quiet).compared(pool)


def every_pair(
    parts: Sequence[Contribution], plan: LinkagePlan, threads: int = 2
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.int64], KeptPairs]:
    """The comparison vectors of two contributions with their masks and numbers of pairs, and all pairs, kept."""
    with ThreadPoolExecutor(threads) as pool:
        context = RunContext(plan, MemoryBudget(1 << 30), pool, threads, ThreadedUnits(pool, threads))
        pairs = BlockKeyedFiles(*parts).pairs(context, quiet)
        code, mask, count = pairs.count(quiet)
        return code, mask, count, pairs.keep(code, mask, np.arange(len(code)), quiet)


def pairs_of(pairs: ScoredPairs | KeptPairs, chosen: Any = slice(None)) -> set[tuple[int, int]]:
    """Some pairs by their rows."""
    return set(zip(pairs.row_a[chosen].tolist(), pairs.row_b[chosen].tolist(), strict=True))


def links_of(linkage: Linkage) -> set[tuple[int, int]]:
    return pairs_of(linkage.pairs, linkage.links)


def n_right(linkage: Linkage) -> int:
    """Links of rows with one number, where these are the people in common."""
    return sum(i == j for i, j in links_of(linkage))


def codes_of(linkage: Linkage) -> set[str]:
    return {warning.code for warning in linkage.warnings}


def of_rows(part: SignatureSet, rows: Any) -> SignatureSet:
    """Some rows of a set, chosen as an array's."""
    fields = {name: replace(field, codes=field.codes[rows]) for name, field in part.fields.items()}
    blocks = {name: keys[rows] for name, keys in part.blocks.items()}
    return replace(part, n_rows=len(np.arange(part.n_rows)[rows]), fields=fields, blocks=blocks)


def with_field(part: SignatureSet, name: str, **values: Any) -> SignatureSet:
    return replace(part, fields={**part.fields, name: replace(part.fields[name], **values)})


def constant(part: SignatureSet, name: str) -> SignatureSet:
    """Every row has one value of the field."""
    field = part.fields[name]
    same = np.full_like(field.signatures[:1], 7)
    return with_field(part, name, signatures=same, codes=np.zeros_like(field.codes))


def emptied(part: SignatureSet, name: str) -> SignatureSet:
    """No row has a value of the field."""
    field = part.fields[name]
    return with_field(part, name, signatures=field.signatures[:0], codes=np.full_like(field.codes, -1))


def drawn(n: int, rng: np.random.Generator, **fields: Sequence[str | None]) -> dict[str, pl.Series]:
    """Records whose fields are drawn from the values given, each as likely."""
    return {
        name: pl.Series(name, [values[i] for i in rng.integers(0, len(values), n)], dtype=pl.String)
        for name, values in fields.items()
    }


def encoded(spec: Specification, frame: pl.DataFrame, side: Side, noise: NoiseKey | None, threads: int = 1) -> Encoded:
    columns = clean(frame, spec, side).columns
    if spec.decoys and noise is not None:
        columns = with_decoys(columns, spec, noise)
    return encode_records(columns, spec, SEED, 1, noise=noise, decoys=spec.decoys, threads=threads)


class Keyed:
    """Two files in mode block_keyed: what custodians make of them, and what Carole's comparison finds."""

    def __init__(
        self,
        spec: Specification,
        files: Mapping[Side, pl.DataFrame],
        noise: Mapping[Side, NoiseKey] = NOISE,
        threads: int = 2,
        **settings: Any,
    ) -> None:
        self.spec = spec.model_copy(update={"mode": "block_keyed"})
        self.plan = replace(plan_of(self.spec), **settings)
        self.made = {side: encoded(self.spec, files[side], side, noise[side], threads) for side in Side}
        self.parts = [contribution_of(self.made[side].sets, files[side].height) for side in Side]
        self.found, self.kept = compare(*self.parts, self.plan, replace(ENOUGH, threads=threads), quiet)
        self.rows = self.kept.row_a, self.kept.row_b
        self.records: list[NDArray[np.int32]] = [
            self.made[side].order[rows].astype(np.int32) for side, rows in zip(Side, self.rows, strict=True)
        ]
        """Whose row each kept pair has in either file; numbers above the file's are of decoys and dummies."""

    def request(self, order: Any = None, digests: tuple[bytes, bytes] = DIGESTS, threads: int = 1) -> ResolutionRequest:
        """As a resolver reads it."""
        return unpack_request(self.packed(order, digests, threads), self.plan)

    def packed(self, order: Any = None, digests: tuple[bytes, bytes] = DIGESTS, threads: int = 1) -> bytes:
        places = np.arange(len(self.kept.pattern)) if order is None else order
        return pack_request(ResolutionRequest(self.found, digests, threads), places)
