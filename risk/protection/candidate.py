"""A protection of the keys that may be chosen: levels and suppressed values, measured on what would be published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gemel.common.errors import parameter
from gemel.risk.arrays import Floats, Mask
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.lattice_search import Node
from gemel.risk.protection.calibrated import Calibrated, calibrated
from gemel.risk.protection.key_table import Joints, KeyTable, level_losses, suppression_losses
from gemel.risk.protection.perturbed_keys import PerturbedKeys
from gemel.risk.protection.policy import FileRisk, Policy, file_risk
from gemel.risk.protection.population import Population


@dataclass(frozen=True, eq=False)
class Candidate:
    """A protection of the keys, and what it does; values are suppressed by record and key."""

    node: Node
    suppressed: Mask = field(repr=False)
    needed: int
    file: KeyFile = field(repr=False)
    risk: FileRisk
    lost: tuple[float, ...]
    loss: float
    breaches: tuple[str, ...]
    exact: bool
    strength: float | None = None
    calibrated: Calibrated | None = field(default=None, repr=False)

    @property
    def share_suppressed(self) -> float:
        return float(self.suppressed.mean())


@dataclass(frozen=True, eq=False)
class Setting:
    """What a search needs beside the keys; the importance of each key is what a bit of it, or a value, is worth."""

    policy: Policy
    fraction: float
    importance: tuple[float, ...]
    weights: Floats | None = field(default=None, repr=False)
    perturbed: PerturbedKeys | None = field(default=None, repr=False)
    fixed: Mapping[int, int] = field(default_factory=dict)
    population: Population | None = field(default=None, repr=False)

    @property
    def perturbing(self) -> bool:
        """Whether values of keys were redrawn or swapped."""
        return self.perturbed is not None and bool(self.perturbed.changes)

    @property
    def by_file_alone(self) -> bool:
        """Whether each record's chance follows from how many records agree with it, and nothing else."""
        return self.weights is None and not self.perturbing

    @property
    def certain(self) -> bool:
        """Whether no chance of a match is estimated: the population is known, or everyone is in the file."""
        return self.population is not None or (self.fraction == 1.0 and self.weights is None)

    @property
    def by_larger(self) -> bool:
        """Whether chances are judged by the upper end too: they are limited and estimated, and no k stands for them."""
        limited = self.policy.max_correct_matches is not None or self.policy.max_record_risk is not None
        return limited and self.policy.k is None and not self.certain

    @property
    def joints(self) -> Joints:
        """Of published and true values, for keys that were changed."""
        return {} if self.perturbed is None else self.perturbed.joints

    def unchanged(self, node: Node, suppressed: Mask) -> Floats | None:
        """Probability that each record's published keys are its true ones; None where none was changed."""
        return None if self.perturbed is None else self.perturbed.kept(node, suppressed)


def measured(
    table: KeyTable, node: Node, suppressed: Mask, setting: Setting, needed: int = 1, *, exact: bool = True
) -> Candidate:
    """A candidate, with its risk measured on the values that are published.

    Where the larger of two numbers judges, the upper end is computed for those that meet the policy by the counts.
    """
    values = table.values(node, suppressed)
    file = KeyFile.from_columns(values, setting.fraction, missing=table.missing, missing_values=())
    exact_risk = None
    if setting.population is not None:
        true = table.codes if setting.perturbed is None else setting.perturbed.original
        exact_risk = setting.population.risk(table, node, suppressed, true)
    risk = file_risk(file, setting.weights, setting.unchanged(node, suppressed), exact_risk)
    recoded = [own[level] for own, level in zip(level_losses(table, setting.joints), node, strict=True)]
    hidden = suppression_losses(table, node, suppressed, setting.joints)
    lost = tuple(a + b for a, b in zip(recoded, hidden, strict=True))
    loss = float(sum(w * bits for w, bits in zip(setting.importance, lost, strict=True)))
    share = float(suppressed.mean())
    breaches = tuple(setting.policy.breaches(risk, share))
    found = Candidate(node, suppressed, needed, file, risk, lost, loss, breaches, exact)
    if breaches or not setting.by_larger:
        return found
    more = calibrated_of(table, setting, found)
    risk = replace(risk, upper=more.upper)
    return replace(found, risk=risk, breaches=tuple(setting.policy.breaches(risk, share)), calibrated=more)


def calibrated_of(table: KeyTable, setting: Setting, candidate: Candidate) -> Calibrated:
    """Calibrated risk of a candidate, computed once where it judged it."""
    if candidate.calibrated is not None:
        return candidate.calibrated
    node, suppressed = candidate.node, candidate.suppressed
    return calibrated(table, node, suppressed, setting.fraction, setting.weights, setting.unchanged(node, suppressed))


def importance_of(names: Sequence[str], given: Mapping[str, float]) -> tuple[float, ...]:
    """Importance of each key, 1 by default."""
    if not all(0.0 < value < float("inf") for value in given.values()):
        remedy = f"the keys are: {', '.join(names)}"
        raise parameter("--importance", "an importance is a number above 0", remedy=remedy)
    return tuple(given.get(name, 1.0) for name in names)
