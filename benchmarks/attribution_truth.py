"""Attribution by the joint model beside the truth, with false links: ``python -m benchmarks attribution_truth``.

Invented drivers of two insurers are linked; of each sensitive variable the measures `modelled_attribution` and
`joint_attribution` are compared with what their intruders infer rightly of the people, whose values are known. In the
section *made* a stated share of the links is false on purpose, with link probabilities that are right, or that claim
a fifth as many or three times as many; in the section *linked* Carole's engine links files by little or by much. What
is printed is how often the truth lies in the 95 % interval, with the exact 95 % interval of that.
``--write`` puts the table into docs/assessment.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

from benchmarks import DOCS
from benchmarks._attributed_links import Attributed, linked, made, specification
from gemel.carole.assessment.inferred_values import Drawn, known, sensitive_values
from gemel.carole.assessment.joint_model import inferences, joint_model
from gemel.common.documents.linkage_document import LinkageDocument
from gemel.common.parties import Side
from gemel.common.specification import Specification

BEGIN, END = "<!-- benchmark attribution truth: begin -->", "<!-- benchmark attribution truth: end -->"
DOCUMENT = DOCS / "assessment.md"
CASES = (
    ("made, none false", 0.0, 0.0, "some"),
    ("made, some doubtful", 0.03, 0.03, "some"),
    ("made, some doubtful", 0.1, 0.1, "some"),
    ("made, all doubtful", 0.03, 0.03, "any"),
    ("made, all doubtful", 0.1, 0.1, "any"),
    ("made, too few claimed", 0.1, 0.02, "any"),
    ("made, too many claimed", 0.1, 0.3, "any"),
)
"""Links that are made: the share of false ones, the share that is claimed by agreement, and which may be false."""

FIELDS = {"much": "surname too", "more": "the day of birth too", "little": "little"}
"""What is compared, from much to little."""


@dataclass(frozen=True)
class Claim:
    """One measure of one sensitive variable in one replicate."""

    measure: str
    variable: str
    intruder: str
    value: float
    lower: float
    upper: float
    true: float

    @property
    def inside(self) -> bool:
        """Whether the truth lies in the interval."""
        return self.lower - 1e-9 <= self.true <= self.upper + 1e-9


def claims(found: Attributed, spec: Specification, linkage: LinkageDocument | None = None) -> Iterable[Claim]:
    """Every claim of the joint model's measures, beside the truth; `linkage`: with estimates of the links' quality."""
    combined, joint = found.combined, found.joint
    policy = spec.assessment
    assert policy is not None
    model = joint_model(combined, spec, joint, linkage)
    plain = joint.without_prior()
    for name, measure in model.by_variable["modelled_attribution"].items():
        drawn = inferences(combined, sensitive_values(combined, name, joint), combined.probability, policy.doubt)
        assert measure.lower is not None
        assert measure.upper is not None
        right = _right(drawn, found, name)
        yield Claim("modelled_attribution", name, "keys", measure.value, measure.lower, measure.upper, right)
    for entry in model.released:
        name, who = entry["variable"], entry["intruder"]
        people = found.true[0] if _of_alice(found, name) else found.true[1]
        knows = [v.name for v in spec.variables if (v.role == "key" if who == "keys" else v.held_by(Side(who)))]
        codes = known(combined, joint, people, knows)
        posterior = joint.conditional(name, codes)
        if entry["posterior"] == "with the prior taken away":
            assert plain is not None
            bare = plain.conditional(name, codes)
            posterior = np.where(bare.sum(axis=1, keepdims=True) > 0, bare, posterior)
        right = _right(Drawn.of(posterior, policy.doubt), found, name)
        yield Claim("joint_attribution", name, who, entry["inferred"], entry["lower"], entry["upper"], right)


def _of_alice(found: Attributed, name: str) -> bool:
    """Whether the person is the one behind Alice's half: whose value Bob has brought."""
    (column,) = found.combined.columns([name])
    return found.combined.variables[column].holder == "bob"


def _right(drawn: Drawn, found: Attributed, name: str) -> float:
    (column,) = found.combined.columns([name])
    people = found.true[0] if _of_alice(found, name) else found.true[1]
    return float((drawn.sure & (drawn.value == people[:, column])).mean())


def compared(
    make: Callable[[np.random.Generator], Attributed],
    spec: Specification,
    replicates: int,
    seed: int,
    linkage: LinkageDocument | None = None,
) -> tuple[list[list[Claim]], float, float]:
    """The claims by replicate, and the mean shares of false links: true and claimed."""
    every, false, claimed = [], [], []
    for r in range(replicates):
        found = make(np.random.default_rng([seed, r]))
        every.append(list(claims(found, spec, linkage)))
        false.append(1 - float(found.right.mean()))
        claimed.append(1 - float(found.combined.probability.mean()))
    return every, float(np.mean(false)), float(np.mean(claimed))


def rows(case: str, every: Sequence[Sequence[Claim]], false: float, claimed: float) -> list[str]:
    """Lines of the table: each measure over variables, intruders and replicates, without those that are always 0."""
    found = []
    by_claim = [of for of in zip(*every, strict=True) if any(claim.true or claim.value for claim in of)]
    for measure in ("modelled_attribution", "joint_attribution"):
        own = [of for of in by_claim if of[0].measure == measure]
        if not own:
            continue
        every_claim = [claim for of in own for claim in of]
        inside, n = sum(claim.inside for claim in every_claim), len(every_claim)
        worst = min(own, key=lambda of: sum(claim.inside for claim in of))
        seldom = sum(claim.inside for claim in worst)
        true, value = (float(np.mean([getattr(claim, what) for claim in every_claim])) for what in ("true", "value"))
        biases = [float(np.mean([claim.value - claim.true for claim in of])) for of in own]
        width = float(np.mean([claim.upper - claim.lower for claim in every_claim]))
        low, high = _exact(seldom, len(worst))
        found.append(
            f"| {case} | {100 * false:.1f} | {100 * claimed:.1f} | `{measure}` | {true:.3f} | {value:.3f} |"
            f" {max(biases, key=abs):+.3f} | {width:.3f} | {inside} of {n} | {seldom} of {len(worst)}"
            f" ({low:.2f} to {high:.2f}), {worst[0].variable}, {worst[0].intruder} |"
        )
    return found


def _exact(successes: int, number: int) -> tuple[float, float]:
    """The exact 95 % interval of a proportion."""
    low = float(beta.ppf(0.025, successes, number - successes + 1)) if successes else 0.0
    return low, float(beta.ppf(0.975, successes + 1, number - successes)) if successes < number else 1.0


def main(arguments: list[str]) -> int:
    """Compare, and print a table in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks attribution_truth", description=__doc__)
    parser.add_argument("--replicates", type=int, default=40)
    parser.add_argument("--links", type=int, default=600, help="links that are made")
    parser.add_argument("--records", type=int, default=600, help="records of each file that is linked")
    parser.add_argument("--doubt", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=40)
    parser.add_argument("--sections", nargs="+", choices=("made", "linked"), default=("made", "linked"))
    parser.add_argument("--write", action="store_true", help="put the table into docs/assessment.md")
    options = parser.parse_args(arguments)
    lines = [
        f"{options.replicates} replicates, seed {options.seed}, doubt {options.doubt:g}.",
        "",
        "| links | false, % | claimed, % | measure | true | measured | largest bias of a variable | mean width of the"
        " interval | truth inside | least often |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    if "made" in options.sections:
        spec = specification("little", options.doubt)
        for case, false, stated, doubtful in CASES:

            def make(
                rng: np.random.Generator, false: float = false, stated: float = stated, doubtful: str = doubtful
            ) -> Attributed:
                return made(spec, options.links, false, stated, doubtful, rng)

            lines += rows(case, *compared(make, spec, options.replicates, options.seed))
    if "linked" in options.sections:
        for fields, words in FIELDS.items():
            spec = specification(fields, options.doubt)

            def make_linked(rng: np.random.Generator, spec: Specification = spec) -> Attributed:
                return linked(spec, options.records, rng)

            lines += rows(f"linked by {words}", *compared(make_linked, spec, options.replicates, options.seed))
    text = "\n".join(lines)
    print(text, flush=True)
    if options.write:
        page = DOCUMENT.read_text(encoding="utf-8")
        head, rest = page.split(BEGIN)
        tail = rest.split(END)[1]
        DOCUMENT.write_text(f"{head}{BEGIN}\n{text}\n{END}{tail}", encoding="utf-8")
    return 0
