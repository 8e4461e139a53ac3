"""One linkage run, from two signature sets to a model, scored pairs and links, in bounded memory.

`link` is the run on this machine; `plan` says what it is asked to do, `result` what it gives back. Numbers only:
nothing here reads, writes or talks to anyone.
"""

from carole.engine.local import link
from carole.engine.plan import FieldPlan, LinkagePlan, Resources, RulePlan
from carole.engine.result import Linkage, ScoredPairs, ScoredPatterns

__all__ = [
    "FieldPlan",
    "Linkage",
    "LinkagePlan",
    "Resources",
    "RulePlan",
    "ScoredPairs",
    "ScoredPatterns",
    "link",
]
