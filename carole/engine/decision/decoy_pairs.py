"""The pairs of decoys with records: those of a contribution in mode open or trusted, whose last rows are decoys.

In these modes the linkage unit decides, and must know which rows are decoys to link without them. They are compared
with the other file's records after the model is known, and so leave nothing in the run's counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field as dataclass_field

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.inputs.value_frequencies import rarity
from gemel.carole.engine.inputs.whole_files import WholeFiles
from gemel.carole.engine.pairs.linkage_input import BothSets, LinkageInput
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.fellegi_sunter import FittedScheme
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.signatures.signature_sets import FieldSignatures, SignatureSet, VariableCodes


@dataclass(frozen=True)
class DecoyPairs:
    """Pairs of one custodian's decoys with the other's records.

    Attributes
    ----------
    decoy
        int, shape (n_pairs,): a number for the decoy of each pair.
    record
        int, shape (n_pairs,): row of the other file.
    weight
        float64, shape (n_pairs,): match weight in bits, under the run's model.
    """

    decoy: NDArray[np.integer] = dataclass_field(repr=False)
    record: NDArray[np.integer] = dataclass_field(repr=False)
    weight: NDArray[np.float64] = dataclass_field(repr=False)


DecoySource = Callable[[FittedScheme, float], tuple[DecoyPairs, DecoyPairs]]
"""The pairs of A's and of B's decoys above a floor of their weight, once the run's model is known."""

WeightedPairs = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]
"""Rows of A, rows of B, and the weight of each pair."""


def records_and_decoys(part: SignatureSet, decoys: int) -> tuple[SignatureSet, SignatureSet]:
    """A contribution of a whole file in its two parts.

    Parameters
    ----------
    part : SignatureSet
        With its decoys, if any.
    decoys : int
        How many of the last rows are decoys, from the specification.

    Raises
    ------
    GemelError
        EMPTY_SOURCE if there are no other rows.
    """
    n_records = part.n_rows - decoys
    if decoys and n_records < 1:
        raise GemelError(
            ErrorCode.EMPTY_SOURCE, "a contribution has no records beside its decoys", where="quality.decoys",
            got=f"{part.n_rows} rows", remedy="contribute again under the specification that all have approved",
        )  # fmt: skip
    return _rows(part, slice(0, n_records)), _rows(part, slice(n_records, part.n_rows))


def decoys_of_files(
    whole: BothSets, plan: LinkagePlan, above: Callable[[LinkageInput, FittedScheme, float], WeightedPairs]
) -> DecoySource:
    """Compares the decoys of each of two files with the records of the other.

    A block that is dropped or split in the run for its size may be whole among so few decoys; these then have more
    candidates than people have.
    """
    (a, decoys_a), (b, decoys_b) = (records_and_decoys(part, plan.decoys) for part in whole)
    names = [field.name for field in plan.fields if field.value_frequencies]

    def weighted(found: WeightedPairs, before_a: int, before_b: int) -> NDArray[np.float64]:
        row_a, row_b, weight = found
        # Values are as frequent as in the files: a decoy's are those of records.
        return weight + rarity(*whole, names, row_a + before_a, row_b + before_b) if names else weight

    def source(scheme: FittedScheme, floor: float) -> tuple[DecoyPairs, DecoyPairs]:
        of_a, of_b = above(WholeFiles(decoys_a, b), scheme, floor), above(WholeFiles(a, decoys_b), scheme, floor)
        return (
            DecoyPairs(of_a[0], of_a[1], weighted(of_a, a.n_rows, 0)),
            DecoyPairs(of_b[1], of_b[0], weighted(of_b, 0, b.n_rows)),
        )

    return source


def _rows(part: SignatureSet, rows: slice) -> SignatureSet:
    """Some rows, with all signatures."""
    fields = {
        name: FieldSignatures(field.bits, field.signatures, field.codes[rows], field.content)
        for name, field in part.fields.items()
    }
    variables = {name: VariableCodes(codes.categories, codes.codes[rows]) for name, codes in part.variables.items()}
    blocks = {name: keys[rows] for name, keys in part.blocks.items()}
    return SignatureSet(part.rule, rows.stop - rows.start, fields, blocks, variables)
