"""The linker used to attack a release: what an intruder achieves who knows people and links them to its records.

`files`: what the intruder knows and what was released, as codes. `attack`: every pair of the two, in parts, and a
Fellegi-Sunter intruder and an extended latent one. `attack_assessment`: all of it for one release, and records of no
real person and their effect. Claims are evaluated in `risk.identification.claims`. Only the
command, `gemel intrude`, reads the files; nothing is sent anywhere.
"""

from gemel.carole.intruder.attack import Suspicions, extended_attack, fellegi_sunter_attack
from gemel.carole.intruder.attack_assessment import assess, with_dummies
from gemel.carole.intruder.files import AttackedFiles

__all__ = ["AttackedFiles", "Suspicions", "assess", "extended_attack", "fellegi_sunter_attack", "with_dummies"]
