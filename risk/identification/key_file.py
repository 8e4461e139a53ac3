"""The records of a release as an intruder meets them: key variables, a sampling fraction, sometimes the population."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.risk.arrays import Codes, Floats, Integers
from gemel.risk.identification.coding import MISSING_LABEL, Counts, Missing, agreeing, coded, tally, text_of
from gemel.risk.models.counts import SparseCounts


def check_shape(file: KeyFile) -> None:
    codes = file.codes
    if codes.ndim != 2 or codes.shape[1] != len(file.names) or len(file.labels) != len(file.names):
        raise parameter(
            "codes",
            "there must be one column of codes and one list of labels for each key variable",
            f"shape {codes.shape} for {len(file.names)} names",
        )
    if not len(file.names) or len(set(file.names)) != len(file.names):
        raise parameter("keys", "key variables must be named, and each named once")
    if not len(codes):
        raise GemelError(ErrorCode.EMPTY_SOURCE, "the file has no records", where="records")
    lowest = -1 if file.missing == "any" else 0
    for q, name in enumerate(file.names):
        if codes[:, q].min() < lowest or codes[:, q].max() >= len(file.labels[q]):
            raise parameter(f"variable {name}", f"codes must be {lowest} to {len(file.labels[q]) - 1}")
    if (file.population_cells is None) != (file.population_counts is None):
        raise parameter("population", "a population has cells and counts")


def check_population(file: KeyFile) -> None:
    assert file.population_counts is not None  # noqa: S101 - checked with the shapes
    if file.population_counts.sum() < file.n_records:
        raise parameter(
            "population",
            "the population is smaller than the sample",
            f"{int(file.population_counts.sum())} people for {file.n_records} records",
            "give the file that the records were drawn from",
        )
    sizes = file.people_alike
    assert sizes is not None  # noqa: S101 - there is a population
    short = int((sizes < file.counts).sum())
    if short and not file.perturbed:
        raise parameter(
            "population",
            "combinations of key values occur more often in the sample than in the population",
            f"{short} such combinations",
            "code both files alike; if the sample is perturbed, set `perturbed` and use misclassification_risk",
        )


# Everything in this package starts from a `KeyFile`. Combinations of key values are its *cells*; costs grow with the
# cells that occur, never with the table of all combinations.
#
# What a missing value means is the user's choice and is never guessed. `level`: a level of its own, so that two missing
# values agree with each other and with nothing else. `any`: it agrees with every value (an intruder cannot exclude the
# record), so that the cells of different records may overlap; measures that need disjoint cells refuse it.

_NEARLY_OWN = 0.5  # distinct values per record from which a variable is hardly a key


@dataclass(frozen=True, eq=False)
class KeyFile:
    """Records over key variables.

    Parameters
    ----------
    labels
        The levels of each, in the order of their codes.
    codes : ndarray of int32, shape (n_records, n_keys)
        Level numbers from 0; ``-1`` where a missing value agrees with everything.
    fraction
        Sampling fraction, above 0 and at most 1.
    population_cells : ndarray of int32, shape (n_population_cells, n_keys), optional
        The distinct combinations of the population, in the same codes.
    population_counts : ndarray of int64, shape (n_population_cells,), optional
        How many people each stands for.
    perturbed
        The records' key values were changed, the population's were not: a combination may then be commoner in the
        sample, and measures that take each record's combination for true do without the population.
    units : ndarray of int64, shape (n_records,), optional
        Which household, enterprise or other unit each record belongs to, where units were sampled whole: those of one
        unit come into the sample together, and say nothing of how many others there are.

    Raises
    ------
    GemelError
        No records, a fraction outside (0, 1], codes out of range, a population that cannot hold the sample.
    """

    names: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    codes: Codes = field(repr=False)
    fraction: float
    population_cells: Codes | None = field(default=None, repr=False)
    population_counts: Counts | None = field(default=None, repr=False)
    missing: Missing = "level"
    perturbed: bool = False
    units: Integers | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_shape(self)
        if not 0.0 < self.fraction <= 1.0:
            raise parameter(
                "fraction",
                "the sampling fraction must lie above 0 and be at most 1",
                f"{self.fraction:g}",
                "give the share of the population that the file holds, 0.05 for five per cent",
            )
        if self.population_cells is not None:
            check_population(self)

    @classmethod
    def from_columns(
        cls,
        columns: Mapping[str, Any],
        fraction: float | None = None,
        *,
        population: Mapping[str, Any] | None = None,
        missing: Missing = "level",
        missing_values: Sequence[str] = ("", "NA"),
        perturbed: bool = False,
    ) -> KeyFile:
        """Code columns of values.

        Parameters
        ----------
        columns
            The values of each key variable, one for each record; text, numbers, polars or numpy columns.
        fraction
            Sampling fraction; with a population it may be left out, and is then the ratio of the sizes.
        missing_values
            Texts that stand for a missing value, beside nulls and NaN.

        Notes
        -----
        Values are compared as text; whole numbers keep their order as labels. O(n log n).
        """
        if not columns:
            raise parameter("keys", "at least one key variable is needed")
        if missing not in ("level", "any"):
            raise parameter("missing", "missing is `level` or `any`", repr(missing))
        names = tuple(str(n) for n in columns)
        absent = [] if population is None else [n for n in names if n not in population]
        if absent:
            raise GemelError(ErrorCode.FIELD_MISSING, f"no column {', '.join(absent)}", where="population")
        texts: dict[str, list[pl.Series]] = {}
        for where, source in (("population", population), ("records", columns)):
            texts[where] = [text_of(source[n], missing_values) for n in names] if source is not None else []
            if len({len(c) for c in texts[where]}) > 1:
                raise parameter(where, "columns must have one length")
        labels: list[tuple[str, ...]] = []
        own, others = [], []
        for q, sample in enumerate(texts["records"]):
            level, codes = coded(pl.concat([sample, *texts["population"][q : q + 1]]), missing)
            labels.append(level)
            own.append(codes[: len(sample)])
            others.append(codes[len(sample) :])
        records = np.stack(own, axis=1)
        if population is None:
            if fraction is None:
                raise parameter(
                    "fraction",
                    "a sampling fraction is needed",
                    remedy="give the share of the population that the file holds, or the population",
                )
            return cls(names, tuple(labels), records, fraction, missing=missing, perturbed=perturbed)
        cells, counts, _ = tally(np.stack(others, axis=1), labels)
        if not len(cells):
            raise GemelError(ErrorCode.EMPTY_SOURCE, "the population has no records", where="population")
        share = min(1.0, len(records) / int(counts.sum())) if fraction is None else fraction
        return cls(names, tuple(labels), records, share, cells, counts, missing, perturbed)

    @property
    def n_records(self) -> int:
        return len(self.codes)

    @property
    def n_keys(self) -> int:
        return len(self.names)

    @property
    def levels(self) -> tuple[int, ...]:
        return tuple(len(x) for x in self.labels)

    @cached_property
    def _tallied(self) -> tuple[Codes, Counts, Counts]:
        return tally(self.codes, self.labels)

    @property
    def cells(self) -> Codes:
        """The distinct combinations of key values, shape (n_cells, n_keys), in lexicographic order."""
        return self._tallied[0]

    @property
    def counts(self) -> Counts:
        """Records with exactly each combination, shape (n_cells,): f_j, where missing is a level."""
        return self._tallied[1]

    @property
    def of_record(self) -> Counts:
        """The cell of each record, shape (n_records,)."""
        return self._tallied[2]

    @cached_property
    def sizes(self) -> Counts:
        """Records that agree with each cell, shape (n_cells,): its count, and more where missing agrees with all."""
        if self.missing == "level":
            return self.counts
        return agreeing(self.cells, self.cells, self.counts, self.levels)

    @property
    def frequency(self) -> Counts:
        """f of each record, shape (n_records,): records that agree with it, itself among them."""
        return self.sizes[self.of_record]

    @property
    def uniques(self) -> Integers:
        """Numbers of the sample uniques among the records."""
        return np.flatnonzero(self.frequency == 1)

    @cached_property
    def units_of_cells(self) -> Counts:
        """Different units among the records of each cell, shape (n_cells,); its records, where none are known."""
        if self.units is None:
            return self.counts
        own = np.unique(np.stack([self.of_record, self.units], axis=1), axis=0)
        return np.bincount(own[:, 0], minlength=len(self.cells))

    @cached_property
    def lone(self) -> Counts:
        """Records of each cell with no other of their unit in it, shape (n_cells,)."""
        if self.units is None:
            return self.counts
        own, number = np.unique(np.stack([self.of_record, self.units], axis=1), axis=0, return_counts=True)
        return np.bincount(own[number == 1, 0], minlength=len(self.cells))

    @cached_property
    def people_alike(self) -> Counts | None:
        """People of the population whose true values agree with each sample cell, shape (n_cells,)."""
        if self.population_cells is None or self.population_counts is None:
            return None
        return agreeing(self.cells, self.population_cells, self.population_counts, self.levels)

    @property
    def population_sizes(self) -> Counts | None:
        """F_j of each *sample* cell, shape (n_cells,).

        None for a perturbed file: people who agree with a changed combination are not those behind the record.
        """
        return None if self.perturbed else self.people_alike

    @property
    def population_total(self) -> float:
        """N: the population's size where it is known, otherwise n divided by the sampling fraction."""
        if self.population_counts is None:
            return self.n_records / self.fraction
        return float(self.population_counts.sum())

    def table(self) -> SparseCounts:
        """The sample as a sparse contingency table, over the key variables that vary; refused where missing values
        agree with everything, so that records have no cell."""
        self.require_disjoint_cells("a contingency table")
        kept = self.varying
        if not kept:
            raise parameter("keys", "no key variable has two levels")
        return SparseCounts.from_records(
            self.cells[:, kept], [self.levels[q] for q in kept], [self.names[q] for q in kept], self.counts
        )

    @property
    def varying(self) -> list[int]:
        """Positions of the key variables with more than one level."""
        return [q for q, n in enumerate(self.levels) if n > 1]

    def only(self, names: Sequence[str]) -> KeyFile:
        """The same file with some of its key variables, as a release without the others would be."""
        unknown = [n for n in names if n not in self.names]
        if unknown or not names:
            raise parameter(
                "keys",
                f"there is no key variable {', '.join(unknown)}" if unknown else "a key set is empty",
                remedy=f"the key variables are: {', '.join(self.names)}",
            )
        kept = [self.names.index(n) for n in names]
        labels = tuple(self.labels[q] for q in kept)
        cells, counts = self.population_cells, self.population_counts
        if cells is not None and counts is not None:
            cells, counts, _ = tally(cells[:, kept], labels, counts)
        return replace(
            self,
            names=tuple(names),
            labels=labels,
            codes=self.codes[:, kept],
            population_cells=cells,
            population_counts=counts,
        )

    def survey_weights(self, weights: ArrayLike) -> Floats:
        """Survey weights as numbers of at least 1, one for each record."""
        found = np.asarray(weights, dtype=np.float64)
        if found.shape != (self.n_records,) or not np.isfinite(found).all() or (found < 1.0).any():
            raise parameter(
                "weights", "each record needs a survey weight of at least 1: the number of people it stands for"
            )
        return found

    def require_disjoint_cells(self, what: str) -> None:
        """Refuse what has no meaning where missing values agree with everything."""
        if self.missing == "any" and (self.codes < 0).any():
            raise parameter(
                "missing",
                f"{what} needs every record in one cell, and missing values agree with all",
                remedy="let missing be a level of its own (`level`)",
            )

    def described(self, cell: Sequence[int] | NDArray[np.int32]) -> dict[str, str]:
        """The key values of a cell, in words, for a data steward's eyes."""
        return {n: MISSING_LABEL if v < 0 else own[v] for n, own, v in zip(self.names, self.labels, cell, strict=True)}

    def warnings(self) -> list[ResultWarning]:
        warnings = []
        for name, n in zip(self.names, self.levels, strict=True):
            if n == 1:
                warnings.append(result_warning("key_constant", key=name))
            elif n > 20 and n > _NEARLY_OWN * self.n_records:
                warnings.append(result_warning("key_nearly_unique", key=name, values=n, records=self.n_records))
        if self.population_counts is not None:
            share = self.n_records / self.population_total
            if abs(share - self.fraction) > 0.1 * self.fraction:
                warnings.append(result_warning("fraction_contradicted", share=share, fraction=self.fraction))
        return warnings
