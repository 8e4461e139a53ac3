"""Training records and a known joint distribution as keyed codes: the sets that come last in a contribution.

Their rows are ordered by their codes, which are all that is sent of them: of the order in the file nothing is left.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.keys.derivation import Seed
from gemel.common.signatures.layout import JOINT, TRAINING
from gemel.common.signatures.signature_sets import SignatureSet, VariableCodes
from gemel.common.specification import Specification
from gemel.custodian.encoding.categories import coded_variables


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
