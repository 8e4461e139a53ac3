"""The disclosure risk of a run's combined output: what it is, what intruders would make of it, and what would help.

`combined`: the linked records with both files' codes side by side, and how sure each link is. `assess`: the whole, as a
document and a judgement. `measures`: what is measured, in words. `keys` and `cell_risk`: combinations of key values and
the chance of a right match; `identification`, `attribution`, `publication`, `membership`: the four kinds of risk;
`options`: what would lower them; `accumulated`: what earlier releases add. Numbers only: codes, never labels.
"""

from tryst.carole.assessment.combined import Combined, combine, combine_coded
from tryst.carole.assessment.combined_assessment import Assessment, assess

__all__ = ["Assessment", "Combined", "assess", "combine", "combine_coded"]
