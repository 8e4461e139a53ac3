"""Category codes: a variable's categories under a keyed relabelling, one for each variable, project and seed.

Category i of the public list becomes its rank among the keyed digests of all places of that list: a permutation that
cannot be distinguished from a random one without the seed. It hides the labels and nothing else. How often a code
occurs, alone and together with others, stays as it is, and a variable of two categories has two permutations only.
Where a variable may be coarsened before a release the permutation keeps the groups together (`category_tree`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.keys.derivation import Purpose, Seed, derive_key
from gemel.common.keys.suite import Suite, keyed_hash
from gemel.common.signatures.category_tree import ordered
from gemel.common.signatures.signature_sets import MISSING, VariableCodes
from gemel.common.specification import Specification, VariableSpec, encoding_digest
from gemel.common.specification.model.protection import CoarseningStep, partitions
from gemel.common.specification.model.section import folded_label

_DIGEST_BYTES = 16


def relabelling(
    variable: VariableSpec,
    project: str,
    seed: Seed,
    digest: bytes,
    epoch: int,
    suite: Suite = Suite.DEFAULT,
    steps: Sequence[CoarseningStep | str] = (),
) -> NDArray[np.int16]:
    """The code of each category, in the order of the public list.

    Parameters
    ----------
    variable, project, seed, digest, epoch, suite
        The key of the relabelling is derived from these.
    steps
        The coarsenings that are allowed for the variable (`Specification.coarsenings`): the codes of a group are then
        neighbours, as `category_tree` orders them.

    Returns
    -------
    ndarray of int16, shape (n_categories,)
        A permutation.
    """
    key = derive_key(seed, project, Purpose.CATEGORY, digest, variable.name, epoch=epoch)
    keyed = keyed_hash(key, _DIGEST_BYTES, suite)
    digests = [keyed(place.to_bytes(4, "big")) for place in range(len(variable.categories))]
    codes = np.empty(len(digests), dtype=np.int16)
    codes[ordered(partitions(steps, variable.categories), digests)] = np.arange(len(digests), dtype=np.int16)
    return codes


def category_codes(
    places: pl.Series,
    variable: VariableSpec,
    project: str,
    seed: Seed,
    digest: bytes,
    epoch: int,
    suite: Suite = Suite.DEFAULT,
    steps: Sequence[CoarseningStep | str] = (),
) -> VariableCodes:
    """The codes of rows, in their order.

    Parameters
    ----------
    places
        Int32: places in the public list, null where missing, as `clean_variables` gives them.
    variable, project, seed, digest, epoch, suite, steps
        The relabelling is derived from these.
    """
    relabelled = np.append(relabelling(variable, project, seed, digest, epoch, suite, steps), np.int16(MISSING))
    return VariableCodes(len(variable.categories), relabelled[places.fill_null(MISSING).to_numpy()])


def labels_by_code(
    variable: VariableSpec,
    project: str,
    seed: Seed,
    digest: bytes,
    epoch: int,
    suite: Suite = Suite.DEFAULT,
    steps: Sequence[CoarseningStep | str] = (),
) -> tuple[str, ...]:
    """The category of each code, which only a custodian can derive, from the seed."""
    codes = relabelling(variable, project, seed, digest, epoch, suite, steps)
    return tuple(variable.categories[place] for place in np.argsort(codes))


def coarsened_labels(labels: Sequence[str], step: CoarseningStep) -> tuple[str, ...]:
    """The groups' names by the codes that a coarsening leaves.

    Parameters
    ----------
    labels
        The category of each code, from `labels_by_code` with the variable's steps.
    step
        The coarsening, one of these.
    """
    return tuple(dict.fromkeys(step.group_of[folded_label(label)] for label in labels))


def coded_variables(
    variables: Mapping[str, pl.Series], order: NDArray[np.int64], specification: Specification, seed: Seed, epoch: int
) -> dict[str, VariableCodes]:
    """Codes of a file's rows in the given order, by variable, as the specification lists them."""
    digest, suite = encoding_digest(specification), specification.suite
    return {
        variable.name: category_codes(
            variables[variable.name][order],
            variable,
            specification.project,
            seed,
            digest,
            epoch,
            suite,
            specification.coarsenings(variable.name),
        )
        for variable in specification.variables
        if variable.name in variables
    }
