"""One linkage run, from two signature sets to a model, scored pairs and links, in bounded memory.

`link` is the run on this machine; `plan` is its input from the specification, `result` its output, `linkage_input` what
it needs of the contributions (`inputs.files`). In block-keyed mode it has two halves: `compare`,
which sees signatures, and `conclude`, which sees which rows are one record. No input or output, no calls to a service.
"""

from gemel.carole.engine.decision.conclusion import conclude
from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.linkage.linking import link
from gemel.carole.engine.linkage.local import compare
from gemel.carole.engine.run.contribution import Contribution
from gemel.carole.engine.run.plan import FieldPlan, LinkagePlan, RulePlan
from gemel.carole.engine.run.resources import Resources
from gemel.carole.engine.run.result import Linkage, ScoredPairs, ScoredPatterns

__all__ = [
    "Candidates",
    "Contribution",
    "FieldPlan",
    "Linkage",
    "LinkagePlan",
    "Resources",
    "RulePlan",
    "ScoredPairs",
    "ScoredPatterns",
    "compare",
    "conclude",
    "link",
]
