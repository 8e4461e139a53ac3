"""A custodian's records as its specification's mode wants them sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tryst.common.encoding.blocks import Encoded, encode_blocks
from tryst.common.encoding.encode import encode
from tryst.common.encoding.order import random_order
from tryst.common.keys.derivation import Seed
from tryst.common.keys.noise import NoiseKey
from tryst.common.progress import Progress
from tryst.common.specification import Specification


def encode_records(
    columns: Mapping[str, pl.Series],
    specification: Specification,
    seed: Seed,
    epoch: int,
    *,
    noise: NoiseKey | None = None,
    variables: Mapping[str, pl.Series] = MappingProxyType({}),
    shuffle: Callable[[int], NDArray[np.int64]] = random_order,
    threads: int = 2,
    progress: Progress | None = None,
) -> Encoded:
    """Encode a file's records: one set in modes open and trusted, one per blocking rule and a sample in block_keyed,
    and there one of codes where the specification has variables.

    The parameters and errors are those of `encode` and `encode_blocks`.
    """
    if specification.mode == "block_keyed":
        return encode_blocks(
            columns,
            specification,
            seed,
            epoch,
            noise=noise,
            variables=variables,
            shuffle=shuffle,
            threads=threads,
            progress=progress,
        )
    part, order = encode(
        columns,
        specification,
        seed,
        epoch,
        noise=noise,
        variables=variables,
        shuffle=shuffle,
        threads=threads,
        progress=progress,
    )
    return Encoded((part,), {part.rule: order})
