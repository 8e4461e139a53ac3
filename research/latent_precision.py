"""What the prior precision of the value model does, fixed and chosen: ``python -m research latent_precision``.

The criterion (`carole.extended_latent.precision`) was designed on draws of three populations: Smith and Elliot's files,
a census-like population in households, a random network for each draw. It is judged on three that had no part in it:
the insurers' files of the demonstration, linked by the engine; a survey; kinds of people that no file holds. Areas are
under expected precision and recall, means over the draws; differences are within draws, with 95 %
intervals by Student's t.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.latent_rehearsal import SPEC
from benchmarks.latent_rehearsal import files as insurers_files
from benchmarks.survey import surveys
from gemel.carole.engine import Resources, link
from gemel.carole.engine.run.specified import plan_of
from gemel.carole.evaluation.link_quality import expected_precision_recall, matching_pairs, number_of_matches
from gemel.carole.extended_latent import ArrayPairs, ExtendedSettings, Values, Variable, WeightedPairs, fit_extended
from gemel.carole.extended_latent.em import sampled_pairs
from gemel.carole.extended_latent.precision import PRECISIONS
from gemel.carole.fellegi_sunter.link_posterior import LinkPosterior
from gemel.carole.fellegi_sunter.model import PatternCounts
from gemel.carole.fellegi_sunter.schemes import FittedScheme, fit_scheme
from gemel.carole.fellegi_sunter.settings import Estimation
from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.models.bayesian_networks import BayesianNetwork
from research._census import LEVELS, census
from research._intervals import bracketed
from research._se17_study import BOUNDS, FROM_A, FROM_B, KEYS, drawn_files, every_pair

PEOPLE = 1000
PERTURBED = 0.1
"""Share of Bob's values of each compared field that are others."""

WORTH_KEEPING = 1e-4
"""Match probability of the pairs that enter the one-to-one posterior."""


@dataclass(frozen=True)
class Outcome:
    """A linkage: the area under expected precision and recall, NaN where the value model's tables do not fit, and the
    precision that it was made with."""

    area: float
    precision: float


Linker = Callable[[float | None], Outcome]
"""Links two files with a precision; None: chosen."""


@dataclass(frozen=True)
class Compared:
    """Two files with all pairs compared, fitted by Fellegi-Sunter."""

    values: Values
    pairs: ArrayPairs
    patterns: PatternCounts
    fitted: FittedScheme
    bounds: tuple[tuple[float, ...], ...]
    truth: NDArray[np.bool_]
    learn_from: WeightedPairs | None = None

    def linked(self, precision: float | None) -> Outcome:
        """By agreement and values, each pair by itself as in the paper."""
        try:
            fit = fit_extended(
                self.values,
                self.pairs,
                self.patterns,
                self.fitted,
                self.bounds,
                ExtendedSettings(precision=precision),
                learn_from=self.learn_from,
            )
        except GemelError as error:
            if error.code is not ErrorCode.MEMORY or precision is None:
                raise
            return Outcome(np.nan, precision)  # the graph found is too dense
        probability = fit.match_probabilities(
            self.pairs.row_a, self.pairs.row_b, self.patterns.gamma[self.pairs.pattern]
        )
        area = expected_precision_recall(np.round(probability, 12), self.truth, int(self.truth.sum())).auc
        return Outcome(area, float(fit.value_fit.precision or np.nan))


def smith_elliot(rng: np.random.Generator) -> Linker:
    """Smith and Elliot's files, with the link probabilities of Fellegi-Sunter."""
    files = drawn_files(rng)
    estimation = Estimation(u="all_pairs", refuse_unidentified=False)
    fitted = fit_scheme("exact", files.patterns, KEYS, BOUNDS, FROM_A, FROM_B, estimation)
    return Compared(files.values, files.pairs, files.patterns, fitted, BOUNDS, files.truth).linked


def insurers(rng: np.random.Generator) -> Linker:
    """The insurers' files of the demonstration, by the engine: one to one, values missing."""
    seed = int(rng.integers(2**31))
    sets, people = insurers_files(seed, 600, 0.1)
    plan = plan_of(SPEC)
    assert plan.latent is not None
    latent = plan.latent

    def linked(precision: float | None) -> Outcome:
        with_precision = replace(plan, latent=replace(latent, precision=precision))
        linkage = link(sets[0], sets[1], with_precision, Resources(2**31, 2), lambda stage, done: None)
        assert linkage.latent is not None
        pairs = linkage.pairs
        truth = matching_pairs(people[0], people[1], pairs.row_a, pairs.row_b)
        area = expected_precision_recall(pairs.link_probability, truth, number_of_matches(people[0], people[1])).auc
        return Outcome(area, float(linkage.latent.precision or np.nan))

    return linked


CENSUS: Mapping[str, str] = {
    "SEX": "both",
    "AGE": "both",
    "ECONPRIM": "alice",
    "SOCLASS": "alice",
    "CARS": "alice",
    "TENURE": "alice",
    "MSTATUS": "bob",
    "RESIDNTS": "bob",
    "DEPCHILD": "bob",
    "FAMTYPE": "bob",
    "LTILL": "bob",
}
"""Variables of the census-like population, and who holds them; age in bands of ten years."""


def households(rng: np.random.Generator) -> Linker:
    """People of a census, by sex, band of age, month of birth and town, with one-to-one link probabilities."""
    codes = census(PEOPLE, rng).codes(tuple(CENSUS))[rng.permutation(PEOPLE)]
    band = list(CENSUS).index("AGE")
    codes[:, band] //= 10
    levels = [10 if name == "AGE" else LEVELS[name] for name in CENSUS]
    variables = [Variable(name, holder, n) for (name, holder), n in zip(CENSUS.items(), levels, strict=True)]  # type: ignore[arg-type]
    return compared(codes, variables, (12, 30), (400, 600), rng, one_to_one=True).linked


def network(rng: np.random.Generator) -> Linker:
    """Fourteen variables of a random Bayesian network, with Fellegi-Sunter's probabilities."""
    holders = rng.permutation(["both"] * 2 + ["alice"] * 6 + ["bob"] * 6)
    levels = [int(n) for n in rng.integers(2, 7, len(holders))]
    parents = [
        tuple(int(w) for w in np.sort(rng.choice(v, min(v, int(rng.integers(1, 3))), replace=False)))
        for v in range(len(holders))
    ]
    tables = tuple(
        rng.dirichlet(np.full(levels[v], 0.4), [levels[w] for w in above]) for v, above in enumerate(parents)
    )
    names = tuple(f"v{v}" for v in range(len(holders)))
    categories = tuple(tuple(str(k) for k in range(n)) for n in levels)
    codes = BayesianNetwork(names, categories, tuple(parents), tables).sample(PEOPLE, rng)
    variables = [Variable(name, str(holder), n) for name, holder, n in zip(names, holders, levels, strict=True)]  # type: ignore[arg-type]
    return compared(codes, variables, (12, 200), (500, 500), rng, one_to_one=False).linked


SURVEY: Mapping[str, str] = {
    "sex": "both",
    "tenure": "both",
    "region": "alice",
    "income": "alice",
    "schooling": "alice",
    "employment": "bob",
    "household": "bob",
    "children": "bob",
    "religion": "bob",
}
"""Variables of the survey, and who holds them."""


def survey(rng: np.random.Generator) -> Linker:
    """Survey variables that depend on age and schooling by their ranks, with one-to-one link probabilities."""
    frame = surveys(PEOPLE, PEOPLE, 0.0, rng)[0]
    numbers = {name: np.unique(frame[name].to_numpy(), return_inverse=True)[1] for name in SURVEY}
    codes = np.stack([numbers[name] for name in SURVEY], axis=1).astype(np.int32)
    variables = [
        Variable(name, holder, int(codes[:, v].max()) + 1)  # type: ignore[arg-type]
        for v, (name, holder) in enumerate(SURVEY.items())
    ]
    return compared(codes, variables, (12, 30), (600, 500), rng, one_to_one=True).linked


def classes(rng: np.random.Generator) -> Linker:
    """Five kinds of people that no file holds, on which nine variables depend; Fellegi-Sunter's probabilities."""
    holders = ["both"] + ["alice"] * 4 + ["bob"] * 4
    levels = rng.integers(2, 6, len(holders))
    kind = rng.choice(5, PEOPLE, p=rng.dirichlet(np.full(5, 5.0)))
    columns = []
    for n in levels:
        shares = rng.dirichlet(np.full(n, 0.5), 5).cumsum(axis=1)[kind]
        columns.append(np.minimum((rng.random(PEOPLE)[:, None] > shares).sum(axis=1), n - 1))
    codes = np.stack(columns, axis=1).astype(np.int32)
    variables = [Variable(f"v{v}", holder, int(n)) for v, (holder, n) in enumerate(zip(holders, levels, strict=True))]  # type: ignore[arg-type]
    return compared(codes, variables, (365,), (500, 300), rng, one_to_one=False).linked


def compared(
    codes: NDArray[np.int32],
    variables: list[Variable],
    others: tuple[int, ...],
    sizes: tuple[int, int],
    rng: np.random.Generator,
    one_to_one: bool,
) -> Compared:
    """Two samples of people, Bob's compared values perturbed, all pairs compared and fitted.

    `others` are numbers of values of fields that are compared and are no variables; every value is as likely.
    `one_to_one`: the value model is estimated from link probabilities that obey one-to-one.
    """
    n = len(codes)
    keys = [v for v, variable in enumerate(variables) if variable.is_key]
    levels = [*(variables[v].levels for v in keys), *others]
    person = np.column_stack([codes[:, keys], *(rng.integers(0, m, n) for m in others)])
    in_a, in_b = rng.permutation(n)[: sizes[0]], rng.permutation(n)[: sizes[1]]
    fields_a, fields_b = person[in_a], person[in_b].copy()
    for q, m in enumerate(levels):
        wrong = rng.random(sizes[1]) < PERTURBED
        fields_b[wrong, q] = (fields_b[wrong, q] + rng.integers(1, m, int(wrong.sum()))) % m
    a, b = codes[in_a].astype(np.int32), codes[in_b].astype(np.int32)
    b[:, keys] = fields_b[:, : len(keys)]
    a[:, [v for v, variable in enumerate(variables) if variable.holder == "bob"]] = -1
    b[:, [v for v, variable in enumerate(variables) if variable.holder == "alice"]] = -1
    pairs, patterns = every_pair(fields_a, fields_b)
    bounds = ((0.5, 1.0),) * len(levels)
    names = [str(q) for q in range(len(levels))]
    fitted = fit_scheme("multinomial", patterns, names, bounds, *sizes, Estimation(refuse_unidentified=False))
    values = Values(tuple(variables), a, b)
    learn_from = one_to_one_pairs(values, pairs, patterns, fitted) if one_to_one else None
    return Compared(values, pairs, patterns, fitted, bounds, in_a[pairs.row_a] == in_b[pairs.row_b], learn_from)


def one_to_one_pairs(values: Values, pairs: ArrayPairs, patterns: PatternCounts, fitted: FittedScheme) -> WeightedPairs:
    """The likelier pairs weighted by their link probabilities, as the engine gives them to the step."""
    kept = np.flatnonzero(fitted.match_probabilities(patterns.gamma)[pairs.pattern] > WORTH_KEEPING)
    row_a, row_b = pairs.row_a[kept], pairs.row_b[kept]
    weight = fitted.match_weights(patterns.gamma)[pairs.pattern[kept]]
    found = LinkPosterior("one_to_one", row_a, row_b, values.n_a, values.n_b).probabilities(weight)
    settings = ExtendedSettings()
    each = ArrayPairs(row_a, row_b, np.arange(len(kept), dtype=np.int32))
    weight = found.probability
    return sampled_pairs(each, lambda *at: weight[at[2]], settings.heaviest, settings.seed, lambda done: None)


DESIGN: Mapping[str, Callable[[np.random.Generator], Linker]] = {
    "Smith and Elliot's": smith_elliot,
    "households": households,
    "random network": network,
}
"""What the criterion was designed on."""

OTHERS: Mapping[str, Callable[[np.random.Generator], Linker]] = {
    "insurers": insurers,
    "survey": survey,
    "kinds of people": classes,
}
"""What had no part in its design."""


def main(arguments: Sequence[str]) -> int:
    """Draw, link with every precision and with the chosen one, print tables in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m research latent_precision", description=__doc__)
    parser.add_argument("--draws", type=int, default=5, help="pairs of files of each population, at least 2")
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--populations", nargs="+", help="some only, by the first words of their names")
    options = parser.parse_args(arguments)
    if options.draws < 2:
        parser.error("an interval needs at least two draws")
    fixed = " | ".join(f"{precision:g}" for precision in PRECISIONS)
    print(f"| population | {fixed} | chosen | chosen less the best fixed | times chosen |")
    print("|---|" + "---|" * (len(PRECISIONS) + 3))
    chosen = tuple(options.populations or ("",))
    for number, (name, drawn) in enumerate(({**DESIGN, **OTHERS}).items()):
        if not name.startswith(chosen):
            continue
        areas, choices = [], Counter[float]()
        for r in range(options.draws):
            linked = drawn(np.random.default_rng([options.seed, number, r]))
            outcomes = [linked(precision) for precision in (*PRECISIONS, None)]
            areas.append([outcome.area for outcome in outcomes])
            choices[outcomes[-1].precision] += 1
        table = np.array(areas)
        best = int(np.nan_to_num(table[:, :-1].mean(axis=0)).argmax())
        gain = bracketed(table[:, -1] - table[:, best])
        cells = " | ".join(f"{area:.3f}" for area in table.mean(axis=0))
        times = ", ".join(f"{precision:g}: {n}" for precision, n in sorted(choices.items()))
        print(f"| {name} | {cells} | {gain} | {times} |", flush=True)
    return 0
