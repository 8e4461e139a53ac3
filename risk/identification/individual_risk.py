"""Individual risk with sampling weights: Benedetti and Franconi, as mu-Argus and sdcMicro have it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numba import vectorize
from numpy.typing import ArrayLike, NDArray

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.risk.arrays import Codes, Floats, Integers
from gemel.risk.identification.coding import agreeing
from gemel.risk.identification.key_file import KeyFile

Weights = NDArray[np.float64]


def check_weights(weights: ArrayLike, where: str = "weights", n_records: int | None = None) -> Weights:
    """Weights as numbers, or an error that counts what is missing, zero or negative.

    `weights` (array of float, shape (n_records,)): NaN where one is missing.
    """
    found = np.asarray(weights, dtype=np.float64)
    if found.ndim != 1 or (n_records is not None and len(found) != n_records):
        raise parameter(
            where,
            "there must be one survey weight for each record",
            f"shape {found.shape}" + ("" if n_records is None else f" for {n_records} records"),
        )
    missing, zero, negative = int((~np.isfinite(found)).sum()), int((found == 0).sum()), int((found < 0).sum())
    if missing or zero or negative:
        kinds = ((missing, "missing or no numbers"), (zero, "zero"), (negative, "negative"))
        raise GemelError(
            ErrorCode.SOURCE,
            "survey weights must be numbers above 0: the people each record stands for",
            where=where,
            got=", ".join(f"{n:,} {kind}" for n, kind in kinds if n),
            remedy="leave out records of weight zero, which stand for no one, and mend the others",
        )
    return found


def implied_fraction(weights: Weights, where: str = "weights") -> float:
    """Records over the sum of their weights: the sampling fraction where none is given."""
    fraction = len(weights) / float(weights.sum())
    if fraction > 1.0:
        raise parameter(
            where,
            "survey weights sum to fewer people than there are records, so that no sampling fraction follows from them",
            f"a sum of {weights.sum():.6g} for {len(weights):,} records",
            "give weights that raise the file to its population, not weights scaled to a mean of 1",
        )
    return fraction


# Given f records of a combination, F people have it with :math:`P(F = h | f) = \binom{h-1}{f-1} p^f (1-p)^{h-f}`, h
# from f on: negative binomial, p the chance that one of them is in the sample, estimated by f over the weights of the
# class. The risk of a record is E[1/F | f]. It uses no model of how keys go together: a class of one record with a
# weight of 500 has risk .012 whatever its key values, where a log-linear model may know that hardly anyone else can
# have them.

_CLIMBED = 40  # f up to which the recursion is used; above it the series has few terms for any p
_LIMITS = (0.01, 0.05, 0.1, 0.2)  # of the records' risk, above which they are counted


@dataclass(frozen=True, eq=False)
class IndividualRisk:
    """The risk of each record.

    `records` (float64, shape (n_records,)): E[1/F | f] of each; `short`: records whose class has less weight than
    records.
    """

    records: Floats = field(repr=False)
    short: int

    @property
    def expected(self) -> float:
        """Global risk of the file: expected re-identifications if every record is matched once."""
        return float(self.records.sum())


def individual_risk(file: KeyFile, weights: Weights | None = None) -> IndividualRisk:
    """Risk of every record from the weights of its class.

    `file`: the records. Where missing values agree with everything, a class is all records that agree. `weights`
    (float64, shape (n_records,), optional): people each record stands for, above 0; by default 1 over the sampling
    fraction.

    O(n log n) and at most 40 steps for each class.

    References
    ----------
    .. [1] Benedetti and Franconi, Statistical and technological solutions for controlled data dissemination, 1998.
    .. [2] Franconi and Polettini, Individual risk estimation in mu-Argus: a review, LNCS 3050, 2004.
       doi:10.1007/978-3-540-25955-8_20
    """
    if weights is None:
        given = np.full(file.n_records, 1.0 / file.fraction)
    else:
        given = check_weights(weights, n_records=file.n_records)
    people = np.bincount(file.of_record, given, len(file.cells)).astype(np.float64)
    if file.missing == "any":
        people = agreeing(file.cells, file.cells, people, file.levels)
    sizes = file.sizes
    share = sizes / people
    risk = expected_reciprocal_of_sampled(sizes, np.minimum(share, 1.0))
    return IndividualRisk(risk[file.of_record], int(file.counts[share > 1.0 + 1e-9].sum()))


def individual_risk_document(file: KeyFile, weights: Weights) -> tuple[dict[str, Any], Floats]:
    found = individual_risk(file, weights)
    F = file.population_sizes
    return {
        "expected_reidentifications": found.expected,
        "share": found.expected / file.n_records,
        "true_reidentifications": None if F is None else float((file.counts / F).sum()),
        "maximum": float(found.records.max()),
        "records_above": [{"risk": limit, "records": int((found.records > limit).sum())} for limit in _LIMITS],
        "sum_of_weights": float(weights.sum()),
        "records_short_of_weight": found.short,
    }, found.records


def expected_reciprocal_of_sampled(f: ArrayLike, p: ArrayLike) -> Floats:
    r"""E[1/F | f], F negative binomial: each of F people was sampled with probability p, and f were.

    `f` (array of int): sample counts, at least 1; `p` (array of float): sampling probabilities, above 0 and at most 1.

    :math:`I_f = \frac{p^f}{f} {}_2F_1(f, f; f+1; q)` with q = 1 - p is :math:`\int_0^1 u^{f-1} / (1 + c u) du` with
    c = q/p. So :math:`I_1 = \log(1 + c)/c` and :math:`I_f = (1/(f-1) - I_{f-1})/c`, stable where c is at least 1.
    Otherwise, and for large f, Pfaff's transformation has positive terms that fall soon:
    :math:`I_f = \frac{p}{f} \sum_k q^k / \binom{f+k}{k}`.
    """
    sizes, shares = np.asarray(f, dtype=np.int64), np.asarray(p, dtype=np.float64)
    if sizes.size and shares.size and (sizes.min() < 1 or not (shares > 0).all() or shares.max() > 1.0):
        raise parameter("f, p", "sample counts must be at least 1, and sampling probabilities above 0 and at most 1")
    return np.asarray(_reciprocal_of_sampled(sizes, shares))


@vectorize(cache=True)  # type: ignore[no-untyped-call, untyped-decorator]  # compiled
def _reciprocal_of_sampled(f: int, p: float) -> float:
    q = 1.0 - p
    if q == 0.0:
        return 1.0 / f
    c = q / p
    if f == 1:
        return math.log1p(c) / c
    if c >= 1.0 and f <= _CLIMBED:
        value = math.log1p(c) / c
        for size in range(2, f + 1):
            value = (1.0 / (size - 1) - value) / c
        return value
    total, term, k = 1.0, 1.0, 0
    while term > 1e-17 * total:
        term *= q * (k + 1) / (f + k + 1)
        total += term
        k += 1
    return p * total / f


# A unit is a household, an enterprise: people who came into the file together. Three intruders. One goes for single
# people: each member is another chance. One knows of the unit only what its members share, the unit's keys: the unit
# is then the record. One knows the keys of all its members together, its composition: fewer units agree on that than
# people agree on one member's keys.


@dataclass(frozen=True, eq=False)
class Units:
    """Which unit, such as a household or an enterprise, each record belongs to.

    `of_record` (int64, shape (n_records,)): number of the record's unit, from 0 in the order of the file; `first`
    (int64, shape (n_units,)): the first record of each; `sizes` (int64, shape (n_units,)): members in the file.
    """

    of_record: Integers = field(repr=False)
    first: Integers = field(repr=False)
    sizes: Integers = field(repr=False)

    @classmethod
    def of(cls, labels: Any, where: str = "unit") -> Units:
        """From a column that has one value for all members of a unit; a missing one is refused."""
        column = pl.Series("unit", labels, strict=False).cast(pl.String)
        without = column.null_count() + int((column == "").sum())
        if without or not len(column):
            raise GemelError(
                ErrorCode.SOURCE,
                "every record needs the unit that it belongs to",
                where=where,
                got=f"{without:,} records without",
                remedy="give a record that belongs with no other a unit of its own",
            )
        units = column.unique(maintain_order=True)
        of_record = column.replace_strict(units, np.arange(len(units)), return_dtype=pl.Int64).to_numpy()
        _, first, sizes = np.unique(of_record, return_index=True, return_counts=True)
        return cls(of_record, first, sizes)

    def any_member(self, risk: Floats) -> Floats:
        r"""Probability that at least one member is identified, shape (n_units,).

        `risk` (float64, shape (n_records,)): the probability that each record is identified; members are tried
        independently.

        :math:`1 - \prod_i (1 - r_i)`, by sums of logarithms: exact for small risks too.
        """
        if risk.shape != self.of_record.shape or (len(risk) and not (risk.min() >= 0 and risk.max() <= 1)):
            raise parameter("risk", "there must be one probability for each record", str(risk.shape))
        with np.errstate(divide="ignore"):
            logs = np.log1p(-risk)
        return np.asarray(-np.expm1(np.bincount(self.of_record, logs, len(self.first))))

    def weights(self, weights: Weights) -> Weights:
        """Units that each stands for, shape (n_units,): the mean weight of its members."""
        return np.asarray(np.bincount(self.of_record, weights, len(self.first)) / self.sizes)

    def constant(self, codes: Codes, name: str) -> Codes:
        """A key of units, shape (n_units,): the one value that all members of each share."""
        own = codes[self.first]
        differing = np.unique(self.of_record[codes != own[self.of_record]])
        if len(differing):
            raise GemelError(
                ErrorCode.SOURCE,
                "a key of units must be the same for all members",
                where=f"unit key {name}",
                got=f"{len(differing):,} units whose members differ",
                remedy="leave it to --keys, or mend the file",
            )
        return own

    def compositions(self, cells: Integers) -> Integers:
        """Number of the composition of each unit, shape (n_units,): the combinations of all its members.

        `cells` (int64, shape (n_records,)): combination of key values of each record.
        """
        order = np.lexsort((cells, self.of_record))
        sorted_cells, ends = cells[order], np.cumsum(self.sizes)
        known: dict[bytes, int] = {}
        return np.array(
            [
                known.setdefault(sorted_cells[end - size : end].tobytes(), len(known))
                for end, size in zip(ends.tolist(), self.sizes.tolist(), strict=True)
            ],
            dtype=np.int64,
        )


def unit_risk_document(
    file: KeyFile, labels: Any, weights: Weights | None, keys: Mapping[str, Codes]
) -> dict[str, Any]:
    units = Units.of(labels)
    own = individual_risk(file, weights)
    risk = units.any_member(own.records)
    people = np.full(file.n_records, 1.0 / file.fraction) if weights is None else weights
    heavy = units.weights(people)
    found: dict[str, Any] = {
        "units": len(units.first),
        "maximum_size": int(units.sizes.max()),
        "any_member": _figures(risk, units.sizes),
        "by_keys": None,
        "by_composition": None,
    }
    if keys:
        columns = np.stack([units.constant(codes, name) for name, codes in keys.items()], axis=1)
        _, which = np.unique(columns, axis=0, return_inverse=True)
        found["by_keys"] = {"keys": list(keys), **_matched(which.reshape(-1), heavy, units.sizes)}
    if file.missing == "level":
        found["by_composition"] = _matched(units.compositions(file.of_record), heavy, units.sizes)
    return found


def _matched(which: Integers, weights: Weights, sizes: Integers) -> dict[str, Any]:
    """Units as records: how many are alone of their kind, and the individual risk of each."""
    f = np.bincount(which)
    share = np.minimum(f / np.bincount(which, weights), 1.0)
    return {"uniques": int((f == 1).sum()), **_figures(expected_reciprocal_of_sampled(f, share)[which], sizes)}


def _figures(risk: Floats, sizes: Integers) -> dict[str, float]:
    return {
        "expected_units": float(risk.sum()),
        "share": float(risk.mean()),
        "expected_people": float((risk * sizes).sum()),
        "maximum": float(risk.max()),
    }
