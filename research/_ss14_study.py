"""Seven methods on files with more and more errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.carole.comparison.levels import FieldComparison, levels_of, similarity_table
from gemel.carole.evaluation.link_quality import PrecisionRecall, TiedClasses, curve_of, expected_precision_recall
from gemel.carole.fellegi_sunter.model import Model, PatternCounts, log2_ratios
from gemel.carole.fellegi_sunter.schemes import FittedScheme, Shade, fit_scheme, log_ratio_shaded, ratio_shaded
from gemel.carole.fellegi_sunter.settings import Estimation
from gemel.common.keys.derivation import FieldKeys
from gemel.common.signatures.signature_sets import FieldSignatures
from gemel.common.specification import LEVELS
from gemel.coordinator.demonstration.people.names import name_tables
from gemel.custodian.encoding.minhash import signatures
from gemel.custodian.encoding.signing import canonical
from gemel.custodian.tokens import tokenise
from research._jaccard import agreeing_bits, estimate

RECORDS, FROM_A, FROM_B = 1000, 700, 400
FIELDS = ("first name", "year of birth", "month of birth", "gender")
BITS = 1024

LEVELS_OF_ERROR = (0.1, 0.2, 0.3, 0.4)
"""Probability of an error in a value; of each that has one, a second follows with the same probability."""

METHODS = ("Jaro", "Jaro-Winkler", "EM(8)", "EM(15)", "log-LR weighted", "LR weighted", "binary EM")
"""In the order in which the slides rank them at the highest level."""

UNROUNDED = ("log-LR, own similarity", "LR, own similarity")
"""The weighted methods with each pair's own similarity instead of its level's: what levels cost."""


@dataclass(frozen=True)
class Files:
    """Two files of records, one text per field, and the person of each record."""

    a: list[list[str]]
    b: list[list[str]]
    person_a: NDArray[np.int64]
    person_b: NDArray[np.int64]


def people(n: int, rng: np.random.Generator) -> list[list[str]]:
    """Invent people: first name, year, month of birth, and gender, all text."""
    female = rng.random(n) < 0.51
    given = np.empty(n, dtype=object)
    for group, named in (("female", female), ("male", ~female)):
        given[named] = name_tables()[group].draw(int(named.sum()), rng)
    # Ages as in a census: even up to 60, then falling to 95.
    age = rng.choice(96, n, p=_ages())
    month = rng.integers(1, 13, n)
    return [
        [str(name).lower(), str(2011 - years), f"{m:02d}", "f" if is_female else "m"]
        for name, years, m, is_female in zip(given, age.tolist(), month.tolist(), female.tolist(), strict=True)
    ]


def _ages() -> NDArray[np.float64]:
    weight = np.clip((95.0 - np.arange(96)) / 35.0, 0.02, 1.0)
    return np.asarray(weight / weight.sum())


def perturbed(value: str, level: float, rng: np.random.Generator) -> str:
    """A value with errors: a character swapped for another, deleted, or transposed with the next."""
    while value and rng.random() < level:
        at = int(rng.integers(len(value)))
        match int(rng.integers(3)):
            case 0:
                kind = "0123456789" if value[at].isdigit() else "abcdefghijklmnopqrstuvwxyz"
                if value in "mf":
                    kind = "mf"
                others = [character for character in kind if character != value[at]]
                value = value[:at] + others[int(rng.integers(len(others)))] + value[at + 1 :]
            case 1:
                value = value[:at] + value[at + 1 :]
            case _:
                at = min(at, max(len(value) - 2, 0))
                value = value[:at] + value[at : at + 2][::-1] + value[at + 2 :]
    return value


def sampled_files(level: float, rng: np.random.Generator) -> Files:
    """The experiment's two files at one level of error."""
    everyone = people(RECORDS, rng)
    copies = [[perturbed(value, level, rng) for value in person] for person in everyone]
    in_a = rng.permutation(RECORDS)[:FROM_A]
    in_b = rng.permutation(RECORDS)[:FROM_B]
    return Files([everyone[i] for i in in_a], [copies[i] for i in in_b], in_a, in_b)


@dataclass(frozen=True)
class Compared:
    """A field compared by one measure: similarity of every pair of distinct values, and its levels by table."""

    codes_a: NDArray[np.int64]
    codes_b: NDArray[np.int64]
    similarity: NDArray[np.float64]
    levels: Callable[[Sequence[float]], NDArray[np.int8]]


def by_signature(a: Sequence[str], b: Sequence[str], rng: np.random.Generator) -> Compared:
    """A field as an untrusted linkage unit sees it: signatures only."""
    keys = FieldKeys(rng.bytes(32), rng.bytes(32))
    sides = []
    for values in (a, b):
        distinct = sorted({value for value in values if value})
        signed, ranks = canonical(signatures(tokenise(distinct, "bigrams", rng.bytes(32)), keys, BITS))
        place = {value: int(rank) for value, rank in zip(distinct, ranks, strict=True)}
        codes = np.array([place.get(value, -1) for value in values], dtype=np.int32)
        sides.append(FieldSignatures(BITS, signed, codes))
    first, second = sides
    agreeing = agreeing_bits(first.signatures[:, None, :], second.signatures[None, :, :])

    def levels(bounds: Sequence[float]) -> NDArray[np.int8]:
        with ThreadPoolExecutor(1) as pool:
            return FieldComparison(first, second, bounds).level_table(pool)

    return Compared(first.codes.astype(np.int64), second.codes.astype(np.int64), estimate(agreeing, BITS), levels)


def by_value(a: Sequence[str], b: Sequence[str], comparator: str) -> Compared:
    """A field as a trusted linkage unit sees it."""
    sides, codes = [], []
    for values in (a, b):
        distinct = sorted({value for value in values if value})
        place = {value: i for i, value in enumerate(distinct)}
        sides.append(distinct)
        codes.append(np.array([place.get(value, -1) for value in values], dtype=np.int64))
    similarity = similarity_table(sides[0], sides[1], comparator)  # type: ignore[arg-type]
    return Compared(codes[0], codes[1], similarity, lambda bounds: levels_of(similarity, bounds))


def vectors(fields: Sequence[Compared], bounds: Sequence[float]) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    """Comparison vectors that occur, and which of them each pair has: shapes (n, n_fields) and (n_a, n_b)."""
    code = np.zeros((len(fields[0].codes_a), len(fields[0].codes_b)), dtype=np.int64)
    base = len(bounds) + 1
    for field in fields:
        table = np.full((len(field.similarity) + 1, field.similarity.shape[1] + 1), base - 1, dtype=np.int64)
        table[:-1, :-1] = field.levels(bounds)
        code *= base
        code += table[field.codes_a[:, None], field.codes_b[None, :]]
    occurs = np.flatnonzero(np.bincount(code.ravel(), minlength=1))
    place = np.zeros(occurs[-1] + 1, dtype=np.int64)
    place[occurs] = np.arange(len(occurs))
    digits = occurs[:, None] // base ** np.arange(len(fields) - 1, -1, -1) % base
    return np.where(digits == base - 1, -1, digits).astype(np.int8), place[code]


@dataclass(frozen=True)
class Outcome:
    """What one method makes of one pair of files: its curve, and its model where it has one."""

    curve: PrecisionRecall
    model: Model | None = None


def replicate(level: float, u: str, rng: np.random.Generator) -> dict[str, Outcome]:
    """One pair of files, linked by every method."""
    return linked(sampled_files(level, rng), u, rng)


def linked(files: Files, u: str, rng: np.random.Generator) -> dict[str, Outcome]:
    """The two files linked by every method."""
    truth = files.person_a[:, None] == files.person_b[None, :]
    columns = [([record[q] for record in files.a], [record[q] for record in files.b]) for q in range(len(FIELDS))]
    settings = Estimation(u=u)  # type: ignore[arg-type]
    outcomes: dict[str, Outcome] = {}

    def run(method: str, fields: Sequence[Compared], levels: str, scheme: str) -> FittedScheme:
        bounds = LEVELS[levels]  # type: ignore[index]
        gamma, member = vectors(fields, bounds)
        count = np.bincount(member.ravel(), minlength=len(gamma))
        matches = np.bincount(member[truth], minlength=len(gamma))
        patterns = PatternCounts(gamma, np.zeros(len(gamma), dtype=np.uint32), count)
        n_a, n_b = member.shape
        all_bounds = [bounds] * len(fields)
        fitted = fit_scheme(scheme, patterns, FIELDS, all_bounds, n_a, n_b, settings)
        classes = _merged_classes(fitted.match_weights(gamma), count, matches)
        outcomes[method] = Outcome(curve_of(classes, int(truth.sum())), fitted.model)
        return fitted

    signed = [by_signature(a, b, rng) for a, b in columns]
    run("EM(8)", signed, "em8", "multinomial")
    run("EM(15)", signed, "em15", "multinomial")
    binary = run("binary EM", signed, "em8", "exact")
    run("LR weighted", signed, "em8", "lr_weighted")
    run("log-LR weighted", signed, "em8", "log_lr_weighted")
    for method, shade in zip(UNROUNDED, (log_ratio_shaded, ratio_shaded), strict=True):
        weights = _own_similarity(signed, binary, shade)
        outcomes[method] = Outcome(expected_precision_recall(weights.ravel(), truth.ravel(), int(truth.sum())))
    run("Jaro", [by_value(a, b, "jaro") for a, b in columns], "em8", "multinomial")
    run("Jaro-Winkler", [by_value(a, b, "jaro_winkler") for a, b in columns], "em8", "multinomial")
    return outcomes


def _merged_classes(
    probability: NDArray[np.float64],
    pairs: NDArray[np.float64] | NDArray[np.int64],
    matches: NDArray[np.float64] | NDArray[np.int64],
) -> TiedClasses:
    """Join groups of pairs, such as comparison patterns, that have one probability or score."""
    distinct, member = np.unique(-probability, return_inverse=True)
    return TiedClasses(
        probability=-distinct,
        pairs=np.bincount(member, weights=pairs, minlength=len(distinct)).astype(np.float64),
        matches=np.bincount(member, weights=matches, minlength=len(distinct)).astype(np.float64),
    )


def _own_similarity(fields: Sequence[Compared], binary: FittedScheme, shade: Shade) -> NDArray[np.float64]:
    """Match weight of every pair by a weighted scheme, from the pair's own similarities."""
    ratios = log2_ratios(binary.model.m, binary.model.u)
    total = np.zeros((len(fields[0].codes_a), len(fields[0].codes_b)))
    for q, field in enumerate(fields):
        table = np.zeros((len(field.similarity) + 1, field.similarity.shape[1] + 1))
        table[:-1, :-1] = shade(ratios[q, 1], ratios[q, 0], field.similarity)
        total += table[field.codes_a[:, None], field.codes_b[None, :]]
    # Sums in another order differ in the last digits; equal pairs must tie.
    return np.round(total, 9)


@dataclass(frozen=True)
class Experiment:
    """Areas and mean curves of every method, in the order of `METHODS` and `UNROUNDED`.

    Of shape (n_levels, n_replicates, n_methods): the area under the expected precision-recall curve, and by
    trapezia, as in print. `precision` is the mean over replicates at each recall of `RECALL`; `agreement` the mean
    P(agreement | match), by field, that the binary EM arrives at.
    """

    levels: tuple[float, ...]
    areas: NDArray[np.float64]
    trapezia: NDArray[np.float64]
    precision: NDArray[np.float64]
    agreement: NDArray[np.float64]

    def area(self, method: str) -> NDArray[np.float64]:
        """Areas of one method, shape (n_levels, n_replicates)."""
        return self.areas[:, :, ALL_METHODS.index(method)]


ALL_METHODS = (*METHODS, *UNROUNDED)

RECALL = np.linspace(0.01, 1.0, 100)


def experiment(
    replicates: int, seed: int, u: str = "all_pairs", levels: Sequence[float] = LEVELS_OF_ERROR
) -> Experiment:
    """Repeat the experiment; the same files for every method and every `u`."""
    shape = len(levels), replicates, len(ALL_METHODS)
    areas, trapezia = np.empty(shape), np.empty(shape)
    precision = np.zeros((len(levels), len(ALL_METHODS), len(RECALL)))
    agreement = np.zeros((len(levels), len(FIELDS)))
    for i, level in enumerate(levels):
        for r in range(replicates):
            outcomes = replicate(level, u, np.random.default_rng([seed, r]))
            for k, method in enumerate(ALL_METHODS):
                curve = outcomes[method].curve
                areas[i, r, k], trapezia[i, r, k] = curve.auc, curve.auc_trapezium
                precision[i, k] += np.interp(RECALL, curve.recall, curve.precision) / replicates
            binary = outcomes["binary EM"].model
            agreement[i] += (np.nan if binary is None else binary.m[:, -1]) / replicates
    return Experiment(tuple(levels), areas, trapezia, precision, agreement)
