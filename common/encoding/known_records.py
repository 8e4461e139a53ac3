"""Training records and a known joint distribution as keyed codes: the sets that come last in a contribution.

Their rows are ordered by their codes, which are all that is sent of them: of the order in the file nothing is left.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tryst.common.encoding.categories import coded_variables
from tryst.common.encoding.layout import JOINT, KNOWN, TRAINING, SetLayout, VariableLayout
from tryst.common.encoding.signature_sets import SignatureSet, VariableCodes
from tryst.common.keys.derivation import Seed
from tryst.common.parties import Side
from tryst.common.specification import Specification
from tryst.common.specification.model.known_files import JointSpec, TrainingSpec

KnownFile = TrainingSpec | JointSpec


def known_files(spec: Specification, side: Side | str) -> dict[str, KnownFile]:
    """The files of known values that one custodian has, by the name of their set, in the order of the sets."""
    if spec.latent is None:
        return {}
    named: tuple[KnownFile | None, ...] = (spec.latent.training, spec.latent.joint)
    return {
        rule: file for rule, file in zip(KNOWN, named, strict=True) if file is not None and Side(file.by) is Side(side)
    }


def known_layouts(spec: Specification, side: Side) -> tuple[SetLayout, ...]:
    """The sizes of the sets that one custodian makes of its files of known values; they follow from the specification.

    What Carole requires of them too: a file of another length is not the one that was named.
    """
    variables = tuple(VariableLayout(each.name, len(each.categories)) for each in spec.value_variables)
    return tuple(
        SetLayout(rule, file.records if isinstance(file, TrainingSpec) else file.cells, (), (), variables)
        for rule, file in known_files(spec, side).items()
    )


def known_set(
    places: Mapping[str, pl.Series],
    counts: NDArray[np.float64] | None,
    spec: Specification,
    seed: Seed,
    epoch: int,
) -> SignatureSet:
    """The set of a file of known values, under the relabelling of both custodians' own codes.

    Parameters
    ----------
    places
        By variable of the value model, Int32: the place in the public list, null where missing.
    counts
        Of a known joint distribution, what each row counts; None: training records.
    spec, seed, epoch
        The relabelling is derived from these.
    """
    n_rows = len(next(iter(places.values())))
    codes = coded_variables(places, np.arange(n_rows), spec, seed, epoch)
    order = np.lexsort([each.codes for each in reversed(codes.values())])
    ordered = {name: VariableCodes(each.categories, each.codes[order]) for name, each in codes.items()}
    if counts is None:
        return SignatureSet(TRAINING, n_rows, {}, {}, ordered)
    return SignatureSet(JOINT, n_rows, {}, {}, ordered, counts=counts[order])
