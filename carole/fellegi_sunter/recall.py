"""What blocking lost: the share of matches that satisfy at least one blocking rule, estimated without truth.

The model never sees the pairs that blocking left out. But it knows the kinds of pairs that it does see, and how often
records of one kind agree on a rule's fields: so it knows how many of each kind the rules miss, and believes of kinds
that no rule finds what it believes of people who change those fields (`JointModel.recall`). A rule on prefixes or parts
of fields finds more: the share is then a lower bound. Of a field that every rule involves the data tell nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gemel.carole.fellegi_sunter.model_warnings import FEWEST_MATCHES, unidentified_fields
from gemel.carole.fellegi_sunter.schemes import FittedScheme
from gemel.carole.fellegi_sunter.settings import RuleFields

ASSUMPTIONS = (
    "what people have changed is independent of errors in what they have not",
    "a rule finds a match only if its fields agree exactly: keys of prefixes or parts find more",
)


@dataclass(frozen=True)
class BlockingRecall:
    """Estimated share of the matches that blocking kept.

    `recall`: None where it is not estimable; `method`: "no blocking", "kinds of pairs" or "not estimable";
    `assumptions`: of the estimate, or why there is none; `found`: expected matches among the candidates.
    """

    recall: float | None
    method: str
    assumptions: tuple[str, ...]
    found: float

    @property
    def lost(self) -> float | None:
        """Estimated matches that are not among the candidates."""
        return None if self.recall is None else self.found * (1 / self.recall - 1)


def blocking_recall(fitted: FittedScheme, found: float, rules: Sequence[RuleFields]) -> BlockingRecall:
    """What blocking lost, by the kinds of pairs of a fit with `found` expected matches among the candidates.

    `rules`: none: nothing was blocked.
    """
    if not rules:
        return BlockingRecall(1.0, "no blocking", (), found)
    if fitted.joint is None:
        return BlockingRecall(None, "not estimable", ("the scheme's match probabilities are not calibrated",), found)
    if found < FEWEST_MATCHES:
        return BlockingRecall(None, "not estimable", ("no rule finds a match",), found)
    fields = fitted.model.fields
    everywhere = unidentified_fields(rules, len(fields))
    if everywhere.any():
        names = ", ".join(field.name for field, always in zip(fields, everywhere, strict=True) if always)
        reason = f"every rule involves {names}: add a rule that does not"
        return BlockingRecall(None, "not estimable", (reason,), found)
    return BlockingRecall(fitted.joint.recall, "kinds of pairs", ASSUMPTIONS, found)
