"""Fields that depend on each other given match status: which, how strongly, and a model that takes it into account."""

from tryst.carole.fellegi_sunter.dependence.diagnosis import Misfit, misfits
from tryst.carole.fellegi_sunter.dependence.distribution import Distribution
from tryst.carole.fellegi_sunter.dependence.joint import Beyond, JointModel, fit_joint
from tryst.carole.fellegi_sunter.dependence.structure import Edge, Structure, Teaching, choose

__all__ = [
    "Beyond",
    "Distribution",
    "Edge",
    "JointModel",
    "Misfit",
    "Structure",
    "Teaching",
    "choose",
    "fit_joint",
    "misfits",
]
