"""What the values of the extended latent step changed, as a run states it; `latent_effect` computes it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MovedDependence:
    """Two variables that the joint distribution joins, and their mutual information, in bits.

    Attributes
    ----------
    variables
    joint, links
        By the step's joint distribution, and by that of the links of agreement alone.
    """

    variables: tuple[str, str]
    joint: float
    links: float


@dataclass(frozen=True)
class LatentEffect:
    """What the values changed, and how far the joint distribution is from that of linked records alone."""

    made: int | None
    undone: int | None
    divergence: float | None = None
    interval: tuple[float, float] | None = None
    dependences: tuple[MovedDependence, ...] = ()
