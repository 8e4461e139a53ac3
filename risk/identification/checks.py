"""What makes records, labels and a population no key file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gemel.common.errors import ErrorCode, GemelError, parameter

if TYPE_CHECKING:
    from gemel.risk.identification.key_file import KeyFile


def check_shape(file: KeyFile) -> None:
    """Codes, labels and names fit each other."""
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
    """A sample cannot hold more people of a kind than the population it was drawn from."""
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
