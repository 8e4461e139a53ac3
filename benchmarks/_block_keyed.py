"""Two files as their custodians encode them, and what Carole compares of them in mode block_keyed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks._in_process import no_progress
from gemel.carole.engine import LinkagePlan, Resources, compare
from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.inputs.files import contribution_of
from gemel.common.keys.derivation import Seed
from gemel.common.keys.noise import NoiseKey
from gemel.common.parties import Side
from gemel.common.progress import Progress
from gemel.common.specification import Specification
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.records import Encoded, encode_records

Files = Mapping[Side, pl.DataFrame]

NOISE = {side: NoiseKey(bytes([number]) * 32) for number, side in enumerate(Side)}
"""Of each custodian, fixed so that figures can be had again."""
RESOURCES = Resources(memory_bytes=8 << 30, threads=2)


def encoded(
    files: Files, spec: Specification, seed: Seed, noise: Mapping[Side, NoiseKey] | None = NOISE
) -> dict[Side, Encoded]:
    """Both files, cleaned and encoded."""
    made = {}
    for side in Side:
        cleaned = clean(files[side], spec, side)
        made[side] = encode_records(
            cleaned.columns, spec, seed, 1, noise=noise and noise[side], variables=cleaned.variables
        )
    return made


def compared(
    files: Files,
    made: Mapping[Side, Encoded],
    plan: LinkagePlan,
    resources: Resources = RESOURCES,
    progress: Progress = no_progress,
) -> tuple[Candidates, dict[Side, NDArray[np.int32]]]:
    """What Carole finds among blocks, and the rows of its pairs in either file; `order` has the rows' records."""
    alice, bob = (contribution_of(made[side].sets, files[side].height) for side in Side)
    found, kept = compare(alice, bob, plan, resources, progress)
    return found, {Side.ALICE: kept.row_a, Side.BOB: kept.row_b}
