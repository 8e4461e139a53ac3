"""Misclassification matrices as people state them, by the names of levels, put in the order of a file's levels.

For each true level the distribution of what is observed, as PRAM's matrices are stated: ``{true: {observed: p}}``; what
is not stated is 0. The matrices of the numbers are ``theta[observed, true]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.loglinear.risk import LogLinearRisk
from gemel.risk.identification.misclassification.perturbation import check_matrix, swapping_matrix
from gemel.risk.identification.misclassification.risk import misclassification_risk

Stated = Mapping[str, Mapping[str, float]]
_TOLERANCE = 1e-6  # of sums of stated probabilities, which are scaled to sum to 1


@dataclass(frozen=True)
class Perturbation:
    """How the key values of a file came to be wrong.

    Parameters
    ----------
    swapped
        Key variables whose values were swapped, and the share of records that were.
    theta
        Key variables with a matrix of their own: for each true level what is observed.
    """

    swapped: Mapping[str, float] = field(default_factory=dict)
    theta: Mapping[str, Stated] = field(default_factory=dict)

    def __post_init__(self) -> None:
        both = [name for name in self.swapped if name in self.theta]
        if both:
            raise parameter(
                "--swapped, --theta",
                f"{', '.join(both)} is both swapped and given a misclassification matrix",
                remedy="state one of the two",
            )

    def __bool__(self) -> bool:
        return bool(self.swapped or self.theta)

    @property
    def names(self) -> list[str]:
        """The key variables that were changed."""
        return [*self.swapped, *self.theta]

    def only(self, names: tuple[str, ...]) -> Perturbation:
        """What concerns these key variables."""
        return Perturbation(
            {name: rate for name, rate in self.swapped.items() if name in names},
            {name: stated for name, stated in self.theta.items() if name in names},
        )

    def matrices(self, file: KeyFile) -> dict[str, NDArray[np.float64]]:
        """The matrix of each changed key variable, in the order of the file's levels; swapping keeps their sizes."""
        found = {}
        for name in self.names:
            if name not in file.names:
                raise parameter("perturbation", f"there is no key variable {name}")
            q = file.names.index(name)
            if name in self.theta:
                found[name] = aligned(self.theta[name], file.labels[q], f"theta of {name}")
            else:
                counts = np.bincount(file.codes[:, q], minlength=file.levels[q])
                found[name] = swapping_matrix(counts, self.swapped[name])
        return found


def aligned(stated: Stated, levels: tuple[str, ...], where: str) -> NDArray[np.float64]:
    """A stated matrix as ``theta[observed, true]``, shape (n_levels, n_levels).

    Raises
    ------
    GemelError
        A level that neither the file nor its population has; a level without a distribution; probabilities that are
        none or do not sum to 1.
    """
    place = {label: k for k, label in enumerate(levels)}
    unknown = sorted({label for true, row in stated.items() for label in (true, *row) if label not in place})
    if unknown:
        raise GemelError(
            ErrorCode.SOURCE,
            "a misclassification matrix has levels that neither the records nor the population have",
            where=where,
            got=", ".join(unknown[:10]),
            remedy="write levels as the file of records does; leave out those that do not occur",
        )
    absent = len(levels) - len(stated)
    if absent:
        raise GemelError(
            ErrorCode.SOURCE,
            "a misclassification matrix needs a distribution for every level",
            where=where,
            got=f"{len(stated)} of {len(levels)}",
            remedy="add the others; a level that is never wrong is observed as itself with probability 1",
        )
    theta = np.zeros((len(levels), len(levels)))
    for true, row in stated.items():
        for observed, p in row.items():
            theta[place[observed], place[true]] = p
    if (theta < 0).any() or np.abs(theta.sum(axis=0) - 1.0).max() > _TOLERANCE:
        of_true, of_observed = theta.sum(axis=0), theta.sum(axis=1)
        transposed = np.abs(of_observed - 1.0).max() <= _TOLERANCE
        raise GemelError(
            ErrorCode.SOURCE,
            "for each true level the probabilities of what is observed must sum to 1",
            where=where,
            got=f"sums from {of_true.min():.6g} to {of_true.max():.6g}",
            remedy="transpose the matrix: its other sums are 1" if transposed else "see docs/identification.md",
        )
    return check_matrix(theta / theta.sum(axis=0), len(levels), where)


def misclassification_document(
    file: KeyFile, perturbation: Perturbation, loglinear: LogLinearRisk | None
) -> dict[str, Any]:
    """Risk of a perturbed file, ready for JSON."""
    matrices = perturbation.matrices(file)
    risk = misclassification_risk(file, matrices, loglinear)
    return {
        "swapped": dict(perturbation.swapped),
        "theta": {
            name: {
                "unchanged_min": float(matrices[name].diagonal().min()),
                "unchanged_max": float(matrices[name].diagonal().max()),
            }
            for name in perturbation.theta
        },
        "tau": risk.tau,
        "tau_approximate": risk.tau_approximate,
        "tau_estimated": risk.tau_estimated,
    }
