"""The leakage benchmark's section on mode block_keyed with `latent`: what the codes of requested records give away.

The coordinator's process has, for one run, the codes of the records of requested pairs beside their comparison vectors.
It is attacked as an attacker would who knows public margins, as one who also knows all that Alice knows of a person,
and as one who colludes with her. Carole has what she had, and where the joint distribution is released or assessed
that too; and she names the pairs. Each figure is beside the same without `latent`. Files of 600 insured people who are
compared by little, and of 2,000 who are compared well, half of each in the other; means over five seeds.

Carole's attacks on a run of mode block_keyed with `latent`: rows of codes joined to rows of signatures.

She has candidate pairs with their comparison vectors, the model, both lists of codes, and, where links are assessed,
the links by rows of codes with probabilities that at least twenty share. With `latent` she may have the joint
distribution, by which she weighs the values of a link as the resolver did. And she names the pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks._latent_views import Case, Run, identified, insurers
from benchmarks._leakage_study import Line, Study
from gemel.carole.engine.latent.step import reported_joint
from gemel.common.parties import Side
from gemel.common.specification import ReleaseSpec, Requested
from gemel.coordinator.demonstration.people.insured import KEY
from gemel.custodian.leakage.across import margin_alignment, unique_rows
from gemel.risk.models.joint_distribution import JointDistribution

GRANTED = ReleaseSpec(joint="bob")


class Figure(NamedTuple):
    """Of one pair of files: words, the share recovered, that by guessing, and what is attainable."""

    what: str
    share: float
    chance: float | None = None
    attainable: float | None = None


Figures = Iterator[Figure]

ALONE = 20
"""Pairs that are each requested alone."""


def by_carole(case: Case) -> Figures:
    """Every attack of hers."""
    yield from _joined(case)
    yield from _changed(case)
    yield from _paired(case)
    yield from _arbitrary(case)
    yield from _one_pair(case)


def _joined(case: Case) -> Figures:
    """Each link by rows of codes taken for the likeliest comparison vector, and for any of its requested pairs."""
    for words, run, joint in (
        ("without latent", case.alone, False),
        ("with latent", case.with_values, False),
        ("with latent and the joint distribution", case.with_values, True),
    ):
        guess, true, pairs = _guessed(case, run, joint)
        commonest = float(np.bincount(true).max() / len(true))
        yield Figure(
            f"the comparison vector of a link by rows of codes, {words}", float((guess == true).mean()), commonest
        )
        share = float(((guess == true) / pairs[guess]).mean())
        by_chance = 1.0 / len(run.found.pattern)
        yield Figure(f"a link by rows of codes joined to its pair, {words}", share, by_chance)


def _guessed(case: Case, run: Run, joint: bool) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The vector guessed for each link, the true one, and the requested pairs of every vector.

    A vector is possible whose probability lies in the interval of the link's group, and which agrees in the key if
    and only if the two codes do. Of these the one with the most matches expected. What the values add to the weight
    she has from the joint distribution, as the resolver has it; without that distribution, zero.
    """
    linkage = run.resolved.linkage
    pairs = np.bincount(run.vector, minlength=len(run.vectors))
    true = run.vector[run.resolved.order[linkage.links]]
    among = np.flatnonzero(pairs)
    names = [field.name for field in case.spec.compared]
    agrees = run.vectors[among, names.index(KEY)]
    a, b = run.links.T
    own = case.codes[Side.ALICE][a, case.names(Side.ALICE).index(KEY)]
    other = case.codes[Side.BOB][b, case.names(Side.BOB).index(KEY)]
    level = np.where((own < 0) | (other < 0), -1, np.where(own == other, run.vectors[:, names.index(KEY)].max(), 0))
    bits = np.zeros(len(true))
    if joint and linkage.pairs.value_bits is not None:
        bits = linkage.pairs.value_bits[linkage.links]
    probability = _expit(np.log(2.0) * (run.agreement[among][None, :] + bits[:, None]) + run.log_prior_odds)
    shown = run.shown_probability
    groups = np.unique(shown)
    between = np.concatenate([[-1.0], (groups[1:] + groups[:-1]) / 2, [2.0]])
    group = np.searchsorted(groups, shown)
    inside = (probability >= between[group, None]) & (probability < between[group + 1, None])
    possible = inside & (agrees[None, :] == level[:, None])
    possible = np.where(possible.any(axis=1)[:, None], possible, agrees[None, :] == level[:, None])
    expected = np.where(possible, probability * pairs[among][None, :], -1.0)
    return among[expected.argmax(axis=1)], true, pairs


def _changed(case: Case) -> Figures:
    """A project linked without the step, and with it after an amendment: links that only one of the two runs has."""
    one, other = ({tuple(link) for link in run.links.tolist()} for run in (case.alone, case.with_values))
    made = np.array([tuple(link) not in one for link in case.with_values.links.tolist()], dtype=np.bool_)
    undone = np.array([tuple(link) not in other for link in case.alone.links.tolist()], dtype=np.bool_)
    yield Figure("links that values made, of all links", float(made.mean()))
    yield Figure("links that values undid, of all without them", float(undone.mean()))
    if not made.any():
        return
    run = case.with_values
    guess, true, pairs = _guessed(case, run, True)
    assert (case.alone.vectors == run.vectors).all()
    linked = case.alone.vector[case.alone.resolved.order[case.alone.resolved.linkage.links]]
    taken = np.bincount(linked, minlength=len(pairs))
    left = np.maximum(pairs - taken, 1)
    share = float(((guess == true) / left[guess])[made].mean())
    yield Figure(
        "of links that values made, joined to their pair after an amendment", share, 1.0 / len(run.found.pattern)
    )


def _paired(case: Case) -> Figures:
    """Rows of the two lists of codes taken for one person by the joint distribution, where nothing is assessed."""
    joint = case.with_values.resolved.linkage.latent
    assert joint is not None
    assert joint.joint is not None
    codes = {side: case.codes[side] for side in Side}
    combinations = {side: np.unique(codes[side], axis=0, return_inverse=True) for side in Side}
    score = _association(case, joint.joint, *(combinations[side][0] for side in Side))
    of_a, of_b = (combinations[side][1].ravel() for side in Side)
    many = np.bincount(of_b, minlength=score.shape[1])
    person = {int(p): row for row, p in enumerate(case.person[Side.BOB])}
    found, by_key = [], []
    key_a, key_b = (codes[side][:, case.names(side).index(KEY)] for side in Side)
    for row, p in enumerate(case.person[Side.ALICE].tolist()):
        if p not in person:
            continue
        own = score[of_a[row]]
        best = own >= own.max() - 1e-9
        found.append(best[of_b[person[p]]] / many[best].sum())
        same = key_b == key_a[row]
        by_key.append(same[person[p]] / max(1, same.sum()))
    yield Figure(
        "a match's two rows of codes taken for one person, by the released joint distribution; by guessing: by the key",
        float(np.mean(found)),
        float(np.mean(by_key)),
    )


def _association(
    case: Case, joint: JointDistribution, of_a: NDArray[np.int64], of_b: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Log of how much likelier combinations of A and of B are in one person than in two, shape (n_a, n_b)."""
    names = list(joint.names)

    def placed(codes: NDArray[np.int64], side: Side, without: str = "") -> NDArray[np.int32]:
        table = np.full((len(codes), len(names)), -1, dtype=np.int32)
        for column, name in enumerate(case.names(side)):
            if name in names and name != without:
                table[:, names.index(name)] = codes[:, column]
        return table

    key = names.index(KEY)
    a, b = placed(of_a, Side.ALICE), placed(of_b, Side.BOB)
    free_b = placed(of_b, Side.BOB, KEY)
    log_a, log_b = joint.model.log_marginal(a), joint.model.log_marginal(b)
    score = np.empty((len(a), len(b)))
    for row in range(len(a)):
        together = np.where(free_b >= 0, free_b, a[row][None, :])
        score[row] = joint.model.log_marginal(together.astype(np.int32)) - log_a[row] - log_b
        differs = (a[row, key] >= 0) & (b[:, key] >= 0) & (a[row, key] != b[:, key])
        # A key that differs is an error of one in ten; the values count all the same.
        score[row] += np.where(differs, np.log(0.1), 0.0)
    return score


def _arbitrary(case: Case) -> Figures:
    """One row of every record: no join, so that the default caps let all codes through to the coordinator."""
    n = len(case.codes[Side.ALICE])
    requested, uploaded = Requested(n, 0), Requested(n, n)
    reached = 0.0 if case.spec.resolution.exceeded(requested, uploaded) else 1.0
    yield Figure(
        "Carole requests one row of every record of Alice: codes that reach the coordinator under the caps", reached
    )


def _one_pair(case: Case) -> Figures:
    """A request of one pair, which makes the joint distribution that of two known rows of signatures."""
    run = case.with_values
    chosen = run.resolved.order[run.resolved.linkage.links[:ALONE]]
    right: list[float] = []
    sent: list[float] = []
    chance: list[float] = []
    for place in chosen.tolist():
        resolved = case.decide(np.array([place]))
        latent = resolved.linkage.latent
        held = {
            name: code
            for side in Side
            for name, code in zip(case.names(side), case.codes[side][run.records[side][place]].tolist(), strict=True)
            if code >= 0 and name != KEY
        }
        for numbers, joint in (
            (right, None if latent is None else latent.joint),
            (sent, reported_joint(resolved.linkage, case.spec.model_copy(update={"release": GRANTED}))),
        ):
            for name, code in held.items():
                commonest = int(np.bincount(_held(case, name)).argmax())
                guess = commonest if joint is None or name not in joint.names else int(joint.table([name]).argmax())
                numbers.append(float(guess == code))
        chance += [float(int(np.bincount(_held(case, name)).argmax()) == code) for name, code in held.items()]
    words = "a pair that Carole requests alone: its codes in"
    yield Figure(f"{words} the joint distribution, were it reported", float(np.mean(right)), float(np.mean(chance)))
    yield Figure(f"{words} what is reported", float(np.mean(sent)), float(np.mean(chance)))


def _held(case: Case, name: str) -> NDArray[np.int64]:
    side = Side.ALICE if name in case.names(Side.ALICE) else Side.BOB
    codes = case.codes[side][:, case.names(side).index(name)]
    return codes[codes >= 0]


def _expit(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(x, -500, 500))))


SEEDS = 5
SENSITIVE = "MakeModel"
"""What Bob knows of the people, and an attacker wants to."""

CASES: tuple[tuple[Callable[[int, int], Case], int], ...] = ((insurers, 600), (identified, 2_000))

REQUIRED: dict[str, dict[str, float]] = {
    "Alice with the coordinator: Bob's MakeModel of her linked records": {"minimum": 0.8},
    "a pair that Carole requests alone: its codes in the joint distribution, were it reported": {"minimum": 0.9},
    "a pair that Carole requests alone: its codes in what is reported": {"above_chance": 0.02},
    "a link by rows of codes joined to its pair, with latent and the joint distribution": {"above_chance": 0.02},
}
"""Of every case: the attack must succeed, or must not, where the words have it."""


def latent(study: Study) -> Iterator[Line]:
    """Every attack on both kinds of files."""
    for make, n in CASES:
        found: dict[str, list[tuple[float, float | None, float | None]]] = {}
        title = ""
        for seed in range(study.seed, study.seed + SEEDS):
            case = make(n, seed)
            title = case.title
            for figures in (requests(case), by_coordinator(case), in_collusion(case), by_carole(case)):
                for what, *numbers in figures:
                    found.setdefault(what, []).append(tuple(numbers))  # type: ignore[arg-type]
        for what, rows in found.items():
            yield _line(title, what, rows)


def _line(title: str, what: str, rows: list[tuple[float, float | None, float | None]]) -> Line:
    shares, chances, attainable = (np.array([row[k] for row in rows], dtype=np.float64) for k in range(3))
    above = shares if np.isnan(chances).any() else shares - chances
    error = float(above.std(ddof=1) / np.sqrt(len(above)))
    words = f"{title}: {what}"
    if np.isnan(chances).any():
        return Line(f"{words} (±{error:.1%})", float(shares.mean()), **REQUIRED.get(what, {}))  # type: ignore[arg-type]
    return Line(
        words,
        float(shares.mean()),
        float(chances.mean()),
        attainable=None if np.isnan(attainable).any() else float(attainable.mean()),
        error=error,
        **REQUIRED.get(what, {}),  # type: ignore[arg-type]
    )


def requests(case: Case) -> Figures:
    """What is requested of Alice at either floor, and what that tells her."""
    also_bobs = np.isin(case.person[Side.ALICE], case.person[Side.BOB])
    for words, run in (("without latent", case.alone), ("with latent", case.with_values)):
        own = np.unique(run.records[Side.ALICE])
        yield Figure(f"Alice's records of which handles are requested, {words}", len(own) / len(also_bobs))
        yield Figure(f"joins requested of Alice, of all, {words}", _joins(case, run))
        yield Figure(
            f"a record that is requested is of a person whom Bob has, {words}",
            float(also_bobs[own].mean()),
            float(also_bobs.mean()),
        )
    start = 0
    for rule in case.spec.keyed_rules:
        n = len(case.encoded[Side.ALICE].orders[rule.name])
        for words, run in (("without latent", case.alone), ("with latent", case.with_values)):
            rows = np.unique(run.rows[Side.ALICE])
            share = float(((rows >= start) & (rows < start + n)).sum() / n)
            yield Figure(f"rows of Alice's rule {rule.name} that are requested, {words}", share)
        start += n


def _joins(case: Case, run: Run) -> float:
    order = np.concatenate([case.encoded[Side.ALICE].orders[rule.name] for rule in case.spec.keyed_rules])
    rows = np.unique(run.rows[Side.ALICE])
    return (len(rows) - len(np.unique(order[rows]))) / max(1, len(order) - len(np.unique(order)))


def by_coordinator(case: Case) -> Figures:
    """Without labels: codes named by public margins, rare combinations, and a person whom the attacker knows."""
    run = case.with_values
    requested = {side: np.unique(run.records[side]) for side in Side}
    read = {side: _named(case, side, case.codes[side][requested[side]]) for side in Side}
    for side in Side:
        right, values, commonest = 0, 0, 0
        for column, name in enumerate(case.names(side)):
            codes = case.codes[side][requested[side], column]
            held = codes[codes >= 0]
            true = case.labels[name][held]
            right += int((read[side][name][held] == true).sum())
            commonest += int(np.bincount(true).max())
            values += len(held)
        yield Figure(
            f"the coordinator: values of {side.title()}'s requested records read", right / values, commonest / values
        )
        alone = unique_rows(case.codes[side][requested[side]])
        yield Figure(f"{side.title()}'s requested records alone with their codes", alone)
    a, b = run.links.T
    both = np.column_stack([case.codes[Side.ALICE][a], case.codes[Side.BOB][b]])
    yield Figure("links alone with the codes of both sides", unique_rows(both))
    vector = run.vector[run.resolved.order[run.resolved.linkage.links]]
    yield Figure("links alone with these and their comparison vector", unique_rows(np.column_stack([both, vector])))
    yield from _recognised(case, read)


def _named(case: Case, side: Side, codes: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """The category taken for each code, by the public margin: here that of all people of the file."""
    named = {}
    for column, name in enumerate(case.names(side)):
        every = case.codes[side][:, column]
        margin = np.zeros(len(case.labels[name]))
        np.add.at(margin, case.labels[name][every[every >= 0]], 1.0)
        named[name] = margin_alignment(codes[:, column], len(margin), margin)
    return named


def _recognised(case: Case, read: dict[Side, dict[str, NDArray[np.int64]]]) -> Figures:
    """People in Alice's file whom the attacker knows as she does: Bob's value of each who is recognised and linked."""
    run, names = case.with_values, case.names(Side.ALICE)
    known = _labelled(case.codes[Side.ALICE], [case.labels[name] for name in names])
    seen = np.unique(run.records[Side.ALICE])
    guessed = _labelled(case.codes[Side.ALICE][seen], [read[Side.ALICE][name] for name in names])
    _, of = np.unique(np.concatenate([known, guessed]), axis=0, return_inverse=True)
    of = of.ravel()
    many = np.bincount(of[len(known) :], minlength=int(of.max()) + 1)
    place = np.zeros(len(many), dtype=np.int64)
    place[of[len(known) :]] = seen
    claimed = many[of[: len(known)]] == 1
    record = place[of[: len(known)]]
    yield Figure(
        "the coordinator knows what Alice does of a person: recognised rightly by it",
        float((claimed & (record == np.arange(len(known)))).mean()),
        float(1 / len(known)),
        float(len(seen) / len(known)),
    )
    partner = np.full(len(known), -1, dtype=np.int64)
    partner[run.links[:, 0]] = run.links[:, 1]
    shown = claimed & (partner[record] >= 0)
    column = case.names(Side.BOB).index(SENSITIVE)
    codes = case.codes[Side.BOB][partner[record[shown]], column]
    value = np.where(codes >= 0, read[Side.BOB][SENSITIVE][codes], -1)
    truth, commonest = _truth(case, np.flatnonzero(shown))
    among = truth >= 0
    yield Figure(
        f"of those recognised and linked, Bob's {SENSITIVE} read",
        float((value[among] == truth[among]).mean()) if among.any() else 0.0,
        float((truth[among] == commonest).mean()) if among.any() else 0.0,
    )


def in_collusion(case: Case) -> Figures:
    """Alice has the labels and the handles that she gave: of each pair she knows her record, and reads Bob's codes."""
    run, names = case.with_values, case.names(Side.BOB)
    a, b = run.links.T
    truth, commonest = _truth(case, a)
    column = names.index(SENSITIVE)
    codes = case.codes[Side.BOB][b, column]
    value = np.where(codes >= 0, case.labels[SENSITIVE][codes], -1)
    among = truth >= 0
    share = float((value[among] == truth[among]).mean())
    yield Figure(
        f"Alice with the coordinator: Bob's {SENSITIVE} of her linked records",
        share,
        float((truth[among] == commonest).mean()),
    )
    right = case.is_match(run.links)
    yield Figure("Alice with the coordinator: all that Bob holds of her linked records", float(right.mean()), 0.0)
    seen = len(np.unique(run.records[Side.BOB])) / len(case.codes[Side.BOB])
    yield Figure("Bob's records whose values she has, whosever they are", seen, 0.0)
    own = case.codes[Side.ALICE][a, case.names(Side.ALICE).index(KEY)]
    other = case.codes[Side.BOB][b, names.index(KEY)]
    yield Figure(f"links in which she sees that Bob has another {KEY}", float((own != other).mean()))


def _truth(case: Case, records: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """What Bob holds of the persons of Alice's records, -1 where nothing; and the commonest category in his file."""
    column = case.codes[Side.BOB][:, case.names(Side.BOB).index(SENSITIVE)]
    held = np.where(column >= 0, case.labels[SENSITIVE][column], -1)
    of_person = np.full(1 + max(int(case.person[side].max()) for side in Side), -1, dtype=np.int64)
    of_person[case.person[Side.BOB]] = held
    return of_person[case.person[Side.ALICE][records]], int(np.bincount(held[held >= 0]).argmax())


def _labelled(codes: NDArray[np.int64], labels: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Codes as places in the public lists, -1 for none."""
    columns = [np.where(codes[:, k] >= 0, of_code[codes[:, k]], -1) for k, of_code in enumerate(labels)]
    return np.stack(columns, axis=1)
