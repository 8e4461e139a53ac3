"""The linker turned on a release: what an intruder achieves who knows people and links them to its records.

`files`: what the intruder knows and what was released, as codes. `pairs`: every pair of the two, in parts. `attack`: a
Fellegi-Sunter intruder and an extended latent one. `dummies`: records that belong to nobody, and what they do to an
attack. `assessment`: all of it for one release. What claims come to is in `risk.identification.claims`. Numbers only,
but for the command, `tryst intrude`, which reads the files; nothing is sent anywhere.
"""

from tryst.carole.intruder.attack import Suspicions, extended_attack, fellegi_sunter_attack
from tryst.carole.intruder.attack_assessment import assess
from tryst.carole.intruder.dummies import with_dummies
from tryst.carole.intruder.files import AttackedFiles

__all__ = ["AttackedFiles", "Suspicions", "assess", "extended_attack", "fellegi_sunter_attack", "with_dummies"]
