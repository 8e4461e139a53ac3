"""Unit risk: how likely it is that at least one member of a unit is identified, and then all of them are.

A unit is a household, an enterprise: people who came into the file together. Three intruders. One goes for single
people: each member is another chance. One knows of the unit only what its members share, the unit's keys: the unit is
then the record. One knows the keys of all its members together, its composition: fewer units agree on that than people
agree on one member's keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.risk.identification.individual_risk import expected_reciprocal_of_sampled, individual_risk
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.survey_weights import Weights


@dataclass(frozen=True, eq=False)
class Units:
    """Which unit, such as a household or an enterprise, each record belongs to.

    Parameters
    ----------
    of_record : ndarray of int64, shape (n_records,)
        Number of the record's unit, from 0 in the order of the file.
    first : ndarray of int64, shape (n_units,)
        The first record of each.
    sizes : ndarray of int64, shape (n_units,)
        Members in the file.
    """

    of_record: NDArray[np.int64] = field(repr=False)
    first: NDArray[np.int64] = field(repr=False)
    sizes: NDArray[np.int64] = field(repr=False)

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
        codes = column.rank("dense").to_numpy()
        _, first, which, sizes = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)
        order = np.argsort(first)  # in the order of the file
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        return cls(place[which.reshape(-1)], first[order].astype(np.int64), sizes[order].astype(np.int64))

    def any_member(self, risk: NDArray[np.float64]) -> NDArray[np.float64]:
        r"""Probability that at least one member is identified, shape (n_units,).

        Parameters
        ----------
        risk : ndarray of float64, shape (n_records,)
            The probability that each record is identified; members are tried independently.

        Notes
        -----
        :math:`1 - \prod_i (1 - r_i)`, by sums of logarithms: exact for small risks too.
        """
        if risk.shape != self.of_record.shape or (len(risk) and not (risk.min() >= 0 and risk.max() <= 1)):
            raise parameter("risk", "there must be one probability for each record", str(risk.shape))
        with np.errstate(divide="ignore"):
            logs = np.log1p(-risk)
        sums = np.zeros(len(self.first))
        np.add.at(sums, self.of_record, logs)
        return np.asarray(-np.expm1(sums))

    def weights(self, weights: Weights) -> Weights:
        """Units that each stands for, shape (n_units,): the mean weight of its members."""
        return np.asarray(np.bincount(self.of_record, weights, len(self.first)) / self.sizes)

    def constant(self, codes: NDArray[np.int32], name: str) -> NDArray[np.int32]:
        """A key of units, shape (n_units,): the one value that all members of each share.

        Raises
        ------
        GemelError
            Members of a unit differ.
        """
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

    def compositions(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Number of the composition of each unit, shape (n_units,): the combinations of all its members.

        Parameters
        ----------
        cells : ndarray of int64, shape (n_records,)
            Combination of key values of each record.
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
    file: KeyFile, labels: Any, weights: Weights | None, keys: Mapping[str, NDArray[np.int32]]
) -> dict[str, Any]:
    """Unit risk of a file, ready for JSON."""
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


def _matched(which: NDArray[np.int64], weights: Weights, sizes: NDArray[np.int64]) -> dict[str, Any]:
    """Units as records: how many are alone of their kind, and the individual risk of each."""
    f = np.bincount(which)
    share = np.minimum(f / np.bincount(which, weights), 1.0)
    return {"uniques": int((f == 1).sum()), **_figures(expected_reciprocal_of_sampled(f, share)[which], sizes)}


def _figures(risk: NDArray[np.float64], sizes: NDArray[np.int64]) -> dict[str, float]:
    """Expected identified units, the people in them, and the greatest risk."""
    return {
        "expected_units": float(risk.sum()),
        "share": float(risk.mean()),
        "expected_people": float((risk * sizes).sum()),
        "maximum": float(risk.max()),
    }
