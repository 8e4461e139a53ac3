"""Fields that depend on each other given match status: which, how strongly, and a model that takes it into account."""

from tryst.carole.fellegi_sunter.dependence.diagnosis import Misfit, misfits
from tryst.carole.fellegi_sunter.dependence.distribution import Distribution
from tryst.carole.fellegi_sunter.dependence.joint import JointModel, OutsideBlocks, fit_joint
from tryst.carole.fellegi_sunter.dependence.structure import Edge, EstimationMask, Structure, choose

__all__ = [
    "Distribution",
    "Edge",
    "EstimationMask",
    "JointModel",
    "Misfit",
    "OutsideBlocks",
    "Structure",
    "choose",
    "fit_joint",
    "misfits",
]
