"""The extended latent step: match probabilities and the joint distribution of both files' variables, together."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gemel.common.specification.model.assessment import PriorsSpec
from gemel.common.specification.model.blocking import JointSpec, TrainingSpec
from gemel.common.specification.model.section import Name, Section

MAX_KEYS = 16


class LatentSpec(Section):
    """The extended latent step, after Fellegi-Sunter: a pair's probability depends on whether its values agree and also
    on the values themselves, and the joint distribution of all variables is estimated with it. It needs `variables` of
    both files, or `keys`."""

    keys: tuple[Name, ...] = Field(default=(), strict=False, max_length=MAX_KEYS)
    """Compared fields whose value counts too where it agrees exactly: agreement on a rare value is stronger evidence. A
    key that is among the `variables` of both files takes its categories from there."""
    search: Literal["greedy", "annealing"] = "greedy"
    """How the decomposable model of the joint distribution is found: by steepest ascent, or by annealing."""
    p: Literal["held", "free"] = "held"
    """Whether the share of matches stays at the Fellegi-Sunter estimate, or is estimated again and can diverge."""
    separate: bool = False
    """Whether the values of non-matches have a model of their own for each file, or the margins of the joint model."""
    rounds: int = Field(default=0, ge=0, le=10)
    """Rounds of estimating the joint distribution again from the new match probabilities. More than none can over-fit;
    the report warns of it."""
    precision: float | None = Field(default=None, gt=0, le=1e6, allow_inf_nan=False)
    """Total prior precision of the joint distribution: pseudo-observations spread evenly over all cells. Null: chosen
    among 1, 4, 16, 64 and 256 by how well the joint distribution orders pairs that it was not estimated from; the
    report states which."""
    training: TrainingSpec | None = None
    """Records of other people, with both files' variables, from which the joint distribution is estimated too."""
    joint: JointSpec | None = None
    """The joint distribution, where it is known: it takes the place of the estimate."""
    priors: PriorsSpec | None = None
    """What is believed of m, u and p."""

    @property
    def files(self) -> tuple[TrainingSpec | JointSpec, ...]:
        """The files that are named by their digest."""
        return tuple(each for each in (self.training, self.joint) if each is not None)
