"""Dummy records: records of no real person, put into a release so that links are less certain (SE17 section 3.1)."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from gemel.carole.intruder.files import AttackedFiles
from gemel.common.errors import parameter
from gemel.risk.models.annealing import anneal
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.fitted import fit
from gemel.risk.models.queries import sample
from gemel.risk.models.scores import HyperDirichlet

Kind = Literal["independent", "model", "twins"]


def with_dummies(files: AttackedFiles, number: int, rng: np.random.Generator, kind: Kind = "twins") -> AttackedFiles:
    """The same files with dummy records at the end of the release.

    Parameters
    ----------
    files
        The files without dummy records.
    number
        Number of dummy records.
    rng
        Source of all random numbers.
    kind
        ``independent``: every value drawn from its variable's own frequencies. ``model``: whole records drawn from a
        decomposable model of the release. ``twins``: the keys of a released record, those that occur least often first,
        with everything else from another record: the record is no longer unique.

    Notes
    -----
    The truth does not change: no person's record is a dummy. The release's owner must inform users of the data, or
    remove dummies from every count; their cost is their share of the records.
    """
    if kind not in get_args(Kind):
        raise parameter("kind", f"must be one of {', '.join(get_args(Kind))}", kind)
    if number < 0:
        raise parameter("number", "cannot be negative", str(number))
    if not number:
        return files
    made = {"independent": _independent, "model": _modelled, "twins": _twins}[kind](files, number, rng)
    return replace(files, released=np.concatenate([files.released, made]))


def _independent(files: AttackedFiles, number: int, rng: np.random.Generator) -> NDArray[np.int32]:
    columns = [rng.choice(files.released[:, q], number) for q in range(len(files.names))]
    return np.stack(columns, axis=1)


def _modelled(files: AttackedFiles, number: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """From a model of the variables that the release has; missing values are a separate level."""
    held = np.flatnonzero([len(np.unique(files.released[:, q])) > 1 for q in range(len(files.names))])
    found = np.tile(files.released[:1], (number, 1))
    if not len(held):
        return found
    codes = files.released[:, held] + 1
    counts = SparseCounts.from_records(codes, [files.levels[q] + 1 for q in held])
    model = fit(counts, anneal(HyperDirichlet(counts), rng, moves=20_000).best.graph)
    found[:, held] = sample(model, number, rng) - 1
    return found


def _twins(files: AttackedFiles, number: int, rng: np.random.Generator) -> NDArray[np.int32]:
    keys = list(files.keys)
    _, which, counts = np.unique(files.released[:, keys], axis=0, return_inverse=True, return_counts=True)
    shuffled = rng.permutation(len(files.released))
    rarest = shuffled[np.argsort(counts[which.ravel()[shuffled]], kind="stable")]
    copied = np.resize(rarest, number)
    made = files.released[rng.integers(0, len(files.released), number)].copy()
    made[:, keys] = files.released[copied][:, keys]
    return made
