"""Category codes: a variable's categories under a keyed relabelling, one for each variable, project and seed.

Category i of the public list becomes its rank among the keyed digests of all places of that list: a permutation that
cannot be distinguished from a random one without the seed. It hides the labels and nothing else. How often a code
occurs, alone and together with others, stays as it is, and a variable of two categories has two permutations only.
Where a variable may be coarsened before a release the permutation keeps the groups together (`category_tree`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from gemel.common.arrays import F64, I16, I64, Columns
from gemel.common.keys.derivation import Purpose, Seed, derive_key
from gemel.common.keys.suite import Suite, keyed_hash
from gemel.common.signatures.category_tree import ordered
from gemel.common.signatures.layout import JOINT, TRAINING
from gemel.common.signatures.signature_sets import MISSING, SignatureSet, VariableCodes
from gemel.common.specification import Specification, VariableSpec, encoding_digest
from gemel.common.specification.model.protection import CoarseningStep, partitions
from gemel.common.specification.model.section import folded_label

Coarsening = CoarseningStep | str
"""A step with its groups, or the name of one that the labels themselves say."""
_DIGEST_BYTES = 16


@dataclass(frozen=True)
class Relabelling:
    """The relabellings of all variables of a project, by the seed from which they are derived.

    `steps` are the coarsenings that are allowed for a variable (`Specification.coarsenings`): the codes of a group are
    then neighbours, as `category_tree` orders them.
    """

    project: str
    seed: Seed
    digest: bytes
    epoch: int
    suite: Suite = Suite.DEFAULT

    @classmethod
    def of(cls, spec: Specification, seed: Seed, epoch: int) -> Relabelling:
        return cls(spec.project, seed, encoding_digest(spec), epoch, spec.suite)

    def codes(self, variable: VariableSpec, steps: Sequence[Coarsening] = ()) -> I16:
        """The code of each category, in the order of the public list: a permutation, shape (n_categories,)."""
        key = derive_key(self.seed, self.project, Purpose.CATEGORY, self.digest, variable.name, epoch=self.epoch)
        keyed = keyed_hash(key, _DIGEST_BYTES, self.suite)
        digests = [keyed(place.to_bytes(4, "big")) for place in range(len(variable.categories))]
        codes = np.empty(len(digests), dtype=np.int16)
        codes[ordered(partitions(steps, variable.categories), digests)] = np.arange(len(digests), dtype=np.int16)
        return codes

    def coded(self, places: pl.Series, variable: VariableSpec, steps: Sequence[Coarsening] = ()) -> VariableCodes:
        """The codes of rows, by their places in the public list: Int32, null where missing."""
        relabelled = np.append(self.codes(variable, steps), np.int16(MISSING))
        return VariableCodes(len(variable.categories), relabelled[places.fill_null(MISSING).to_numpy()])

    def labels(self, variable: VariableSpec, steps: Sequence[Coarsening] = ()) -> tuple[str, ...]:
        """The category of each code, which only a custodian can derive, from the seed."""
        return tuple(variable.categories[place] for place in np.argsort(self.codes(variable, steps)))


def coarsened_labels(labels: Sequence[str], step: CoarseningStep) -> tuple[str, ...]:
    """The groups' names by the codes that a coarsening leaves of `labels`, the categories by code."""
    return tuple(dict.fromkeys(step.group_of[folded_label(label)] for label in labels))


def coded_variables(
    variables: Columns, order: I64, specification: Specification, seed: Seed, epoch: int
) -> dict[str, VariableCodes]:
    """Codes of a file's rows in the given order, by variable, as the specification lists them."""
    relabelling = Relabelling.of(specification, seed, epoch)
    held = {each.name: each for each in specification.variables if each.name in variables}
    steps = {name: specification.coarsenings(name) for name in held}
    return {name: relabelling.coded(variables[name][order], each, steps[name]) for name, each in held.items()}


# Training records and a known joint distribution as keyed codes: the sets that come last in a contribution.
#
# Their rows are ordered by their codes, which are all that is sent of them: of the order in the file nothing is left.


def known_set(places: Columns, counts: F64 | None, spec: Specification, seed: Seed, epoch: int) -> SignatureSet:
    """The set of a file of known values, under the relabelling of both custodians' own codes.

    `places` are Int32 by variable of the value model: the place in the public list, null where missing. `counts` are
    what each row of a known joint distribution counts; None: training records.
    """
    n_rows = len(next(iter(places.values())))
    codes = coded_variables(places, np.arange(n_rows), spec, seed, epoch)
    order = np.lexsort([each.codes for each in reversed(codes.values())])
    ordered = {name: VariableCodes(each.categories, each.codes[order]) for name, each in codes.items()}
    if counts is None:
        return SignatureSet(TRAINING, n_rows, {}, {}, ordered)
    return SignatureSet(JOINT, n_rows, {}, {}, ordered, counts=counts[order])
