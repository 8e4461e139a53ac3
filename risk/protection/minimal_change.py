"""The smallest change that meets a policy, and the frontier of risk against loss on the way to it.

Recoding takes detail from all records, suppression from the few that need it, so each is cheap where the other is dear.
For each share of records that may be left to suppression, the lattice is searched for the node of least loss at which
no more records than that fall short, and at which the expected correct matches are within the policy even if each of
them comes to agree with just enough others. Both only improve by coarsening, so the search is exact. What falls short
there is suppressed, and the result is measured as a file. Of those that meet the policy the one of least loss, recoding
and suppression together in bits a record, is taken.

The search goes by the counts. Where a calibrated upper end judges too, what it refuses is followed by candidates for
stricter limits by the counts, and for as many records as bound every chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from gemel.common.errors import parameter
from gemel.common.progress import Progress, silent
from gemel.risk.arrays import Floats, Integers, Mask
from gemel.risk.identification.individual_risk import expected_reciprocal_of_sampled
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.lattice_search import Node, minimal_node
from gemel.risk.protection.candidate import Candidate, Setting, measured
from gemel.risk.protection.key_table import KeyTable, level_losses
from gemel.risk.protection.local_suppression import suppress
from gemel.risk.protection.policy import TOLERANCE, Policy, agreeing_weight, record_risks

# How many records must agree for the chance of a right match, E[1/F | f], to be low enough.
#
# The chance is that of individual risk (`expected_reciprocal_of_sampled`): 1/f where everyone is in the file, and
# falling in f. The sampling fraction is that of the file, or by weights f over the sum of the weights of the records
# that agree.


def required_frequencies(risk: ArrayLike, pi: ArrayLike, maximum: int) -> Integers:
    """The smallest f at which E[1/F | f] is at most `risk`; `maximum` + 1 where none up to it is."""
    limit, p = np.broadcast_arrays(np.asarray(risk, dtype=np.float64), np.asarray(pi, dtype=np.float64))
    low, high = np.ones(p.shape, dtype=np.int64), np.full(p.shape, maximum + 1, dtype=np.int64)
    while (low < high).any():
        middle = (low + high) // 2
        enough = expected_reciprocal_of_sampled(middle, p) <= limit
        high = np.where(enough, middle, high)
        low = np.where(enough, low, np.minimum(middle + 1, high))
    return low


SHARES = (0.0, 0.01, 0.1, 1.0)
"""Of the records, that may be left to suppression."""

_Step = tuple[Policy, int, float]

_WEIGHTED_ROUNDS = 8
_HALVED = 5  # times that a limit by the counts is halved
_MORE = 3  # times the frequency that meets a limit by the file alone, where the population may say otherwise


def candidates(
    table: KeyTable, setting: Setting, aims: Sequence[Policy] = (), progress: Progress = silent
) -> list[Candidate]:
    """Candidates for each share of records that may be left to suppression; those that come out alike once.

    Where correct matches are limited, candidates are also made in which every record agrees with more records than k:
    with as many as meet the limit by themselves, and with a number between. Suppression alone may then do.
    """
    plain = level_losses(table, setting.joints)
    losses = [[w * bits for bits in own] for w, own in zip(setting.importance, plain, strict=True)]
    levels = [[setting.fixed[q]] if q in setting.fixed else range(len(own)) for q, own in enumerate(losses)]
    allowed = [[own[level] for level in some] for own, some in zip(losses, levels, strict=True)]
    found: dict[tuple[Node, int], Candidate] = {}

    def make(steps: Sequence[_Step], stage: str) -> None:
        for number, (aim, needed, share) in enumerate(steps):
            progress(stage, number / len(steps))
            holds = _condition(table, setting, aim, needed, share)
            at = minimal_node(allowed, lambda i, holds=holds: holds(_levels(levels, i)))  # type: ignore[misc]
            node = None if at.node is None else _levels(levels, at.node)
            if node is not None and (node, needed) not in found:
                mask = _suppression(table, node, setting, aim, needed, give_back=False)
                found[node, needed] = measured(table, node, mask, setting, needed, exact=at.exact)

    make(_steps(setting, aims, len(table.codes)), "candidates")
    if any(c.breaches and c.risk.upper is not None for c in found.values()):
        make(_stricter_steps(setting, len(table.codes)), "stricter candidates")
    return list(found.values())


def _steps(setting: Setting, aims: Sequence[Policy], n: int) -> list[_Step]:
    """What candidates are made for: a policy, a frequency that all need, a share of records left to suppression."""
    steps = []
    for aim in (setting.policy, *aims):
        own = [needed := _needed(setting, aim, n)]
        if aim.max_correct_matches and aim is setting.policy:
            enough = min(n, int(required_frequencies(aim.max_correct_matches, setting.fraction, n)))
            own += [round((needed * enough) ** 0.5), enough]
            own += [min(n, _MORE * enough)] if setting.population is not None else []
        if aim.max_record_risk and setting.population is not None:
            own.append(min(n, math.ceil(1.0 / aim.max_record_risk)))
        steps += [(aim, f, share) for f in dict.fromkeys(own) if f >= needed for share in SHARES]
    return steps


def _stricter_steps(setting: Setting, n: int) -> list[_Step]:
    """Where the upper end refuses what meets the policy by the counts: the counts halved again and again, then 1/f."""
    policy = setting.policy
    needed = _needed(setting, policy, n)
    limits = [own for own in (policy.max_correct_matches, policy.max_record_risk) if own]
    steps = []
    if setting.by_file_alone:
        limit = policy.max_correct_matches
        start = float(expected_reciprocal_of_sampled(needed, setting.fraction)) if limit is None else limit
        for halved in range(1, _HALVED + 1):
            aim = replace(policy, max_correct_matches=start / 2**halved)
            steps += [(aim, needed, share) for share in SHARES]
    bounds = [math.ceil(1.0 / own - TOLERANCE) for own in limits]
    own = [f for bound in bounds for f in (round((needed * bound) ** 0.5), bound) if needed <= f <= n]
    return steps + [(policy, f, share) for f in dict.fromkeys(own) for share in SHARES]


def refined(table: KeyTable, setting: Setting, candidate: Candidate) -> Candidate:
    """A candidate that meets the policy, at the same node with fewer suppressed values.

    Values that are not needed are given back, and between what the policy asks of every record and what the candidate
    was made for, the smallest frequency with which the policy is met is taken.
    """
    if not candidate.suppressed.any():
        return candidate
    best, low, high = candidate, _needed(setting, setting.policy, len(table.codes)), candidate.needed
    while low <= high:
        middle = (low + high) // 2
        mask = _suppression(table, candidate.node, setting, setting.policy, middle, give_back=True)
        made = measured(table, candidate.node, mask, setting, middle, exact=candidate.exact)
        if made.breaches:
            low = middle + 1
        else:
            high = middle - 1
            best = min(best, made, key=lambda c: c.loss)
    return best


def _levels(levels: Sequence[Sequence[int]], at: Node) -> Node:
    return tuple(own[i] for own, i in zip(levels, at, strict=True))


def minimal_change(found: Sequence[Candidate]) -> Candidate | None:
    """The candidate of least loss among those that meet the policy."""
    meeting = [c for c in found if not c.breaches]
    return min(meeting, key=lambda c: (c.loss, c.share_suppressed)) if meeting else None


def on_frontier(found: Sequence[Candidate]) -> list[bool]:
    """Whether no other candidate has both less loss and fewer expected correct matches."""
    points = [(c.loss, c.risk.judged_matches) for c in found]
    return [not any(o != c and o[0] <= c[0] and o[1] <= c[1] for o in points) for c in points]


def _needed(setting: Setting, policy: Policy, n: int) -> int:
    """f that each record needs, by k and by the limit on its risk."""
    needed = max(1, policy.k or 1)
    if needed > n:
        raise parameter("--k", "k is above the number of records", f"{needed} of {n} records", "give a smaller k")
    if policy.max_record_risk is not None and setting.by_file_alone and setting.population is None:
        by_risk = int(required_frequencies(policy.max_record_risk, setting.fraction, n))
        if by_risk > n:
            what, got = "no file of so many records has so small a risk", f"{policy.max_record_risk:g} with {n} records"
            raise parameter("--max-record-risk", what, got, "give a higher limit")
        needed = max(needed, by_risk)
    return needed


def _condition(table: KeyTable, setting: Setting, policy: Policy, needed: int, share: float) -> Callable[[Node], bool]:
    """Few enough records fall short, and correct matches are within the limit when those come to agree with enough."""
    limit = policy.max_correct_matches
    n = len(table.codes)
    # By weights or with perturbed values the chances are those of the file that results: what is found is measured.
    judged = limit is not None and setting.by_file_alone
    whole = setting.population if limit is not None and not setting.perturbing else None
    nothing = np.zeros(table.codes.shape, dtype=bool)
    # What may be suppressed is expected to end with as many people as `needed` records stand for; it is measured later.
    ends = float(expected_reciprocal_of_sampled(needed, setting.fraction)) if share else np.inf

    def holds(node: Node) -> bool:
        f, counts = table.frequencies(node)
        if counts[f < needed].sum() > share * n:
            return False
        if whole is not None:
            return bool(np.minimum(1.0 / np.maximum(whole.people(table, node, nothing), 1), ends).mean() <= limit)
        if not judged:
            return True
        chances = expected_reciprocal_of_sampled(np.maximum(f, needed), setting.fraction)
        return bool((chances * counts).sum() / n <= limit)

    return holds


def _suppression(
    table: KeyTable, node: Node, setting: Setting, policy: Policy, needed: int, *, give_back: bool
) -> Mask:
    codes, sizes = table.at(node), table.sizes(node)
    # Among the people of a population no one agrees with a record because another record's value is suppressed.
    meaning = table.missing if setting.population is None else "level"
    limit = policy.max_record_risk
    if limit is None or setting.by_file_alone or setting.population is not None:
        return suppress(codes, sizes, needed, costs=setting.importance, missing=meaning, give_back=give_back)
    # By weights each record needs a number of its own, which the values suppressed may raise.
    own = np.full(len(codes), needed, dtype=np.int64)
    for _ in range(_WEIGHTED_ROUNDS):
        mask = suppress(codes, sizes, own, costs=setting.importance, missing=meaning, give_back=give_back)
        values = table.values(node, mask)
        file = KeyFile.from_columns(values, setting.fraction, missing=table.missing, missing_values=())
        unchanged = setting.unchanged(node, mask)
        above = record_risks(file, setting.weights, unchanged) > limit
        if not above.any():
            break
        pi: float | Floats = setting.fraction
        if setting.weights is not None:
            pi = np.minimum(1.0, file.frequency / agreeing_weight(file, setting.weights))
        kept = np.ones(len(codes)) if unchanged is None else unchanged
        rate = np.broadcast_to(np.asarray(pi, dtype=np.float64), own.shape)[above]
        more = required_frequencies(limit / np.maximum(kept[above], max(limit, 1e-12)), rate, len(codes) - 1)
        own[above] = np.minimum(len(codes), np.maximum(own[above] + 1, more))
    return mask
