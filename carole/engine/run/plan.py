"""What a run is to do: plain values, made from the specification by the caller."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from gemel.carole.comparison.crosswise import crosswise_bounds
from gemel.carole.comparison.levels import AnyComparator
from gemel.carole.fellegi_sunter.link_rule import Assignment
from gemel.carole.fellegi_sunter.schemes import scheme_named
from gemel.carole.fellegi_sunter.settings import MPrior
from gemel.common.errors import parameter
from gemel.common.specification.model.blocking import Bands, Canopies, SimilarValues
from gemel.common.specification.model.defaults import PERSONAL, Describes
from gemel.common.specification.model.schemes import DEFAULT_SCHEME


@dataclass(frozen=True)
class FieldPlan:
    """A compared field.

    `bounds`: inclusive upper bounds of its levels; `value_frequencies`: whether agreement on a rare value has more
    weight; `missing_as_level`: whether a missing value is evidence; otherwise it is missing at random;
    `randomised_response`: probability with which each bit of its signatures was randomised, on either side; `part_of`:
    the date that it is the day, month or year of.
    """

    name: str
    bits: int
    bounds: tuple[float, ...]
    comparator: AnyComparator = "jaccard"
    value_frequencies: bool = False
    missing_as_level: bool = False
    randomised_response: float = 0.0
    describes: Describes = "household"
    part_of: str = ""

    @property
    def personal(self) -> bool:
        return self.describes in PERSONAL

    def __post_init__(self) -> None:
        ascending = all(low < high for low, high in zip(self.bounds, self.bounds[1:], strict=False))
        where = f"fields.{self.name}.bounds"
        if not self.bounds or not ascending or self.bounds[0] < 0 or self.bounds[-1] != 1:
            what, got = "bounds must ascend from at least 0 to 1", str(list(self.bounds))
            raise parameter(where, what, got, "give the levels' inclusive upper bounds, the last of them 1")
        if len(self.bounds) > 100:
            raise parameter(where, "at most 100 levels", str(len(self.bounds)), "use fewer levels")


PRESENT_BOUNDS = (0.5, 1.0)
"""Levels of the comparison of presence: missing on either side, present on both."""

MAX_BLOCK_PAIRS = 100_000_000
"""Pairs above which a block is split or dropped, unless the rule has a limit."""


@dataclass(frozen=True)
class RulePlan:
    name: str
    fields: tuple[str, ...]
    formed: Bands | Canopies | SimilarValues | None = None
    limit: int = MAX_BLOCK_PAIRS
    split: str | None = None


@dataclass(frozen=True)
class VariablePlan:
    """A category variable: its name, its holder, and its number of categories."""

    name: str
    holder: Literal["alice", "bob", "both"]
    categories: int


@dataclass(frozen=True)
class LatentPlan:
    variables: tuple[VariablePlan, ...] = ()
    keys: tuple[str, ...] = ()
    search: Literal["greedy", "annealing"] = "greedy"
    p: Literal["held", "free"] = "held"
    separate: bool = False
    rounds: int = 0
    precision: float | None = None
    m_prior: tuple[tuple[str, MPrior], ...] = ()
    u_prior: tuple[tuple[str, MPrior], ...] = ()
    p_prior: tuple[float, float] = (0.0, 0.0)

    def held_by(self, side: str) -> tuple[VariablePlan, ...]:
        return tuple(variable for variable in self.variables if variable.holder in (side, "both"))


U = Literal["all_pairs", "corrected", "free"]
Dependence = Literal["auto", "none", "pairwise", "decomposable"]


@dataclass(frozen=True)
class LinkagePlan:
    """One linkage run.

    `rules`: none compares every pair; `swaps`: pairs of fields compared crosswise too, by name; each adds a comparison
    after the fields'; `scheme`: how similarity enters the model (`carole.fellegi_sunter.schemes`); `threshold`: minimum
    probability of a link, unless there is a maximum expected share of false links, `false_link_rate`; None: that of the
    largest expected F1; `seed`: of the random sample of pairs; `expected_matches`: prior mean of the number of matches;
    None: any number is as likely;
    `check_field`: a field that both sets carry but no link is made by; its agreement shows the share of false links;
    `decoys`: records that each custodian has added to its file and knows to be no person's; in modes open and trusted
    they are the last rows of its set.

    `u`: "all_pairs": the levels' distribution over all pairs of the two files; "corrected": the matches' share of it is
    taken out; "free": it is estimated.

    `dependence`: "none": fields are independent, in matches and in other pairs; otherwise pairs are of kinds, and
    fields depend on each other among strangers: "pairwise": in a forest of pairs; "decomposable" and "auto": in cliques
    of up to three fields; which, the evidence decides. Schemes that are not calibrated have none.

    `assignment`: "one_to_one": the best set of links with no record in two; "greedy": the same, most probable pair
    first; "many_to_one": a record of A is linked at most once; "one_to_many": a record of B is; "clusters": the persons
    of each file, found within it, one to one; "none": every pair separately.
    """

    fields: tuple[FieldPlan, ...]
    rules: tuple[RulePlan, ...] = ()
    swaps: tuple[tuple[str, str], ...] = ()
    scheme: str = DEFAULT_SCHEME
    u: U = "corrected"
    dependence: Dependence = "none"
    assignment: Assignment = "one_to_one"
    threshold: float | None = 0.5
    false_link_rate: float | None = None
    seed: int = 1
    max_iterations: int = 500
    tolerance: float = 1e-8
    expected_matches: float | None = None
    m_prior: tuple[tuple[str, MPrior], ...] = ()
    latent: LatentPlan | None = None
    check_field: FieldPlan | None = None
    decoys: int = 0
    draws: int = 0

    def __post_init__(self) -> None:
        for wrong, where, expected, got, remedy in self._refusals():
            if wrong:
                raise parameter(where, expected, got, remedy)

    def _refusals(self) -> Iterator[tuple[bool, str, str, str, str]]:
        """What a plan may not be: whether it is, where, what is expected, what was got, and what to do."""
        names = [field.name for field in self.fields]
        yield not names, "fields", "at least one compared field", "none", "name the fields to compare"
        repeated = len(set(names)) != len(names)
        yield repeated, "fields", "each field may occur once", "a repeated name", "remove the repetition"
        exchanged = [name for swap in self.swaps for name in swap]
        wrong = len(set(exchanged)) != len(exchanged) or not set(exchanged) <= set(names)
        yield wrong, "swaps", "each field at most once, and only compared ones", "others", "correct the swaps"
        kinds = ", ".join(get_args(Dependence))
        wrong = self.dependence not in get_args(Dependence)
        yield wrong, "model.dependence", f"one of {kinds}", repr(self.dependence), "name one of them"
        calibrated = scheme_named(self.scheme).facts.calibrated
        wrong = not calibrated and any(field.value_frequencies for field in self.fields)
        yield wrong, "fields.value_frequencies", "weights that are ratios", self.scheme, "use another scheme"
        expected = self.expected_matches
        wrong = expected is not None and not (expected > 0 and math.isfinite(expected))
        yield wrong, "model.expected_matches", "a number above 0", str(expected), "or leave it out"
        only, remedy = "compared fields only", "name fields that are compared"
        yield not {name for name, _ in self.m_prior} <= set(names), "model.m_prior", only, "others", remedy
        wrong, what = self.threshold is not None and not 0 < self.threshold <= 1, "a probability in (0, 1]"
        yield wrong, "links.threshold", what, str(self.threshold), "for instance .5"
        rate = self.false_link_rate
        wrong = rate is not None and not 0 < rate < 1
        yield wrong, "links.false_link_rate", "a share in (0, 1)", str(rate), "for instance .01"
        kinds = ", ".join(get_args(Assignment))
        wrong = self.assignment not in get_args(Assignment)
        yield wrong, "links.assignment", f"one of {kinds}", self.assignment, "name one"
        latent, check = self.latent, None if self.check_field is None else self.check_field.name
        yield latent is not None and not set(latent.keys) <= set(names), "latent.keys", only, "others", remedy
        used = {name for rule in self.rules for name in (*rule.fields, rule.split)} | set(names)
        wrong = check is not None and check in used
        yield wrong, "quality.check_field", "a field that nothing else uses", str(check), "choose another"
        wrong = latent is not None and bool(check is not None or self.decoys)
        yield wrong, "quality", "no estimates with the extended latent step", "both", "drop one of the two"
        wrong = bool(self.decoys) and not self.one_to_one
        yield wrong, "quality.decoys", "links of one record to one", self.assignment, "drop one of the two"
        one_each = latent is not None or check is not None or bool(self.draws)
        what = "clusters without the latent step, estimates of quality and draws, which suppose one link of a record"
        yield self.assignment == "clusters" and one_each, "links.assignment", what, "one of them", "drop it"

    def max_links(self, n_a: int, n_b: int) -> int:
        """So many links can files of these numbers of records have; under clusters, of persons."""
        return {"many_to_one": n_a, "one_to_many": n_b, "none": n_a * n_b}.get(self.assignment, min(n_a, n_b))

    def check_expected_matches(self, n_a: int, n_b: int) -> None:
        """Raise PARAMETER if more matches are believed than these files can have."""
        possible = self.max_links(n_a, n_b)
        if self.expected_matches is not None and self.expected_matches > possible:
            can_have = f"as many as {n_a:,} and {n_b:,} records can have under {self.assignment}"
            what, got = f"no more than {possible:,}, {can_have}", f"{self.expected_matches:,.0f}"
            raise parameter("model.expected_matches", what, got, "state a smaller number, or leave it out")

    @property
    def known_threshold(self) -> float | None:
        """Minimum probability of a link; None where it follows from the pairs."""
        return self.threshold if self.false_link_rate is None else None

    @property
    def probable(self) -> float:
        """Probability from which pairs must be kept, or the decision would be wrong."""
        return 0.5 if self.threshold is None else self.threshold

    @property
    def compared(self) -> tuple[FieldPlan, ...]:
        """The comparisons of the model.

        The fields; a comparison for each pair of them that may be exchanged; and for each field that has missing as a
        level whether both records have it (1) or not (0). The field itself stays missing in the latter case and adds
        nothing, so that P(missing) and P(level | there) together are the distribution of its levels, missing being one.
        """
        crosswise = []
        for first, second in self.swaps:
            bounds = crosswise_bounds(self.field(first).bits, self.field(first).randomised_response)
            crosswise.append(FieldPlan(f"{first}-{second}-exchanged", 64, bounds))
        presence = (FieldPlan(f"{name}-present", 64, PRESENT_BOUNDS) for name in self.present)
        return (*self.fields, *crosswise, *presence)

    def field(self, name: str) -> FieldPlan:
        """The compared field of a name; KeyError if there is none."""
        return {field.name: field for field in self.fields}[name]

    @property
    def present(self) -> tuple[str, ...]:
        """Fields whose presence is evidence; their comparisons come last."""
        return tuple(field.name for field in self.fields if field.missing_as_level)

    @property
    def swapped(self) -> range:
        """Positions of the crosswise comparisons among those compared."""
        return range(len(self.fields), len(self.fields) + len(self.swaps))

    @property
    def presence(self) -> range:
        """Positions of the comparisons of presence among those compared."""
        return range(self.swapped.stop, self.swapped.stop + len(self.present))

    @property
    def position(self) -> dict[str, int]:
        """The place of each field among those compared."""
        return {field.name: q for q, field in enumerate(self.fields)}

    @property
    def exchanged(self) -> tuple[tuple[int, int], ...]:
        """Of each swap the places of its two fields."""
        return tuple((self.position[first], self.position[second]) for first, second in self.swaps)

    @property
    def several(self) -> tuple[bool, bool]:
        """Whether A's file, and B's, may have several records of a person with a link each."""
        return self.assignment in ("none", "many_to_one"), self.assignment in ("none", "one_to_many")

    @property
    def once(self) -> tuple[bool, bool]:
        """Whether a record of A, and of B, has one link at most."""
        several_a, several_b = (self.assignment == "clusters" or several for several in self.several)
        return not several_b, not several_a

    @property
    def one_to_one(self) -> bool:
        """Whether no record of either file may have two links."""
        return all(self.once)

    @property
    def competing(self) -> bool:
        """Whether the records of a file may have one link at most, so that pairs compete."""
        return self.assignment != "none"
