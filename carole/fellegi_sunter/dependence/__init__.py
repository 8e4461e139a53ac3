"""What makes other pairs agree: fields that depend on each other, and classes of kin beside the matches.

`estimation` is the EM, `maximisation` its second step, `starting_classes` where it starts, `joint` the model.
"""

from gemel.carole.fellegi_sunter.dependence.diagnosis import Evidence, JointModel, Misfit, OutsideBlocks, misfits
from gemel.carole.fellegi_sunter.dependence.estimation import fit_joint
from gemel.carole.fellegi_sunter.dependence.kin_classes import KinClasses
from gemel.carole.fellegi_sunter.dependence.structure import Distribution, Edge, EstimationMask, Structure, choose

__all__ = [
    "Distribution",
    "Edge",
    "EstimationMask",
    "Evidence",
    "JointModel",
    "KinClasses",
    "Misfit",
    "OutsideBlocks",
    "Structure",
    "choose",
    "fit_joint",
    "misfits",
]
