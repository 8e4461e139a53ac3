"""Metropolis-Hastings over decomposable graphs in compiled code: one walk serves sampling, tempering and annealing.

A move names a node v and one or two others; it changes the edge (v, w) and, for a double move, (v, x) after it. Which
nodes are named does not depend on the graph, every intermediate graph must be decomposable, and a double move
taken backwards is proposed as often as forwards: so the proposal is symmetric and the target is the uniform prior
over graphs times the marginal likelihood. A move that would leave the decomposable graphs is a rejected step.

Whether a move is legal is decided by one of two methods that give the same answer: a bitwise search of the graph, or
neutral rotations of a dynamic junction tree. For the at most 62 variables of a machine word the search is the faster
(`python -m benchmarks models`), so it is the default; its tests hold the two together.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from numba import njit

from gemel.risk.arrays import Floats, Integers
from gemel.risk.models.junction_trees import ADJACENCY, ILLEGAL, apply, is_complete, prepare, separated
from gemel.risk.models.scores import is_full, move_score

PROPOSED, ACCEPTED, REFUSED, SWAPS, SWAPPED = range(5)
HASH, SLOT, MODELS, CLOSED, UNRECORDED, SAMPLES, TRACED = range(7)
DONE, CACHE_FULL, MODELS_FULL = range(3)


class Ladder(NamedTuple):
    """Chains at several inverse temperatures, the cold one first (a single one unless tempered)."""

    trees: Integers  # (rungs, 4, n)
    scores: Floats  # (rungs,)
    betas: Floats  # (rungs,)
    tally: Integers  # (rungs, 5): PROPOSED ... SWAPPED


def moves_made(tally: Integers) -> dict[str, Any]:
    return {"proposed": int(tally[PROPOSED]), "accepted": int(tally[ACCEPTED]), "refused": int(tally[REFUSED])}


class Draws(NamedTuple):
    """Random numbers of a batch of moves; `third` is -1 where one edge is changed."""

    first: Integers
    second: Integers
    third: Integers
    log_uniform: Floats
    swap: Floats


class Record(NamedTuple):
    """The models that the cold chain was at, how often, and the best of them."""

    words: Integers  # (n_words,): the present model, one bit for each pair of variables
    keys: Integers  # (places, n_words)
    visits: Integers  # (places,): 0 is free
    scores: Floats  # (places,)
    marks: Integers  # (n_pairs,): random numbers whose exclusive or is a model's hash
    pairs: Integers  # (n, n): number of each pair
    state: Integers  # HASH ... TRACED
    lost_edges: Integers  # (n_pairs,): over samples whose model found no place
    trace: Floats
    best: Integers  # (n,): adjacency
    best_score: Floats  # (1,)


@njit(cache=True, nogil=True)
def legal_rest(tree, v, w, by_rotation):  # type: ignore[no-untyped-def]  # compiled
    """The rest of the clique that changing edge (v, w) concerns, or `ILLEGAL`."""
    if by_rotation:
        return prepare(tree, v, w)
    common = tree[ADJACENCY, v] & tree[ADJACENCY, w]
    if tree[ADJACENCY, v] >> w & 1:
        return common if is_complete(tree, common) else ILLEGAL
    return common if separated(tree[ADJACENCY], v, w) else ILLEGAL


@njit(cache=True, nogil=True)
def change(tree, v, w, by_rotation):  # type: ignore[no-untyped-def]  # compiled
    """Change an edge just found legal."""
    if by_rotation:
        apply(tree, v, w)
    else:
        tree[ADJACENCY, v] ^= 1 << w
        tree[ADJACENCY, w] ^= 1 << v


@njit(cache=True, nogil=True)
def _attempt(data, work, tree, v, w, x, beta, log_uniform, by_rotation):  # type: ignore[no-untyped-def]  # compiled
    """One move: (-1, 0) if illegal, (0, 0) if refused, (1, change of score) if made."""
    rest = legal_rest(tree, v, w, by_rotation)
    if rest == ILLEGAL:
        return -1, 0.0
    gain = move_score(data, work, rest, v, w)
    if tree[ADJACENCY, v] >> w & 1:
        gain = -gain
    if x < 0:
        if log_uniform < beta * gain:
            change(tree, v, w, by_rotation)
            return 1, gain
        return 0, 0.0
    change(tree, v, w, by_rotation)
    rest = legal_rest(tree, v, x, by_rotation)
    outcome = -1
    if rest != ILLEGAL:
        second = move_score(data, work, rest, v, x)
        if tree[ADJACENCY, v] >> x & 1:
            second = -second
        gain += second
        outcome = 0
        if log_uniform < beta * gain:
            change(tree, v, x, by_rotation)
            return 1, gain
    legal_rest(tree, v, w, by_rotation)
    change(tree, v, w, by_rotation)
    return outcome, 0.0


@njit(cache=True, nogil=True)
def _flip(record, v, w):  # type: ignore[no-untyped-def]  # compiled
    pair = record.pairs[v, w]
    record.words[pair // 62] ^= 1 << (pair % 62)
    record.state[HASH] ^= record.marks[pair]
    record.state[SLOT] = -1


@njit(cache=True, nogil=True)
def renew(record, tree):  # type: ignore[no-untyped-def]  # compiled
    """Set the record's present model from a tree."""
    record.words[:] = 0
    record.state[HASH] = 0
    n = tree.shape[1]
    for v in range(n):
        for w in range(v):
            if tree[ADJACENCY, v] >> w & 1:
                _flip(record, v, w)
    record.state[SLOT] = -1


@njit(cache=True, nogil=True)
def _place(record):  # type: ignore[no-untyped-def]  # compiled
    """The place of the present model, or the free one where it belongs."""
    mask = len(record.visits) - 1
    place = record.state[HASH] & mask
    while record.visits[place] > 0:
        same = True
        for i in range(len(record.words)):
            if record.keys[place, i] != record.words[i]:
                same = False
                break
        if same:
            break
        place = (place + 1) & mask
    return place


@njit(cache=True, nogil=True)
def _note(record, score):  # type: ignore[no-untyped-def]  # compiled
    """Count one sample of the present model."""
    state = record.state
    state[SAMPLES] += 1
    if state[SLOT] < 0:
        place = _place(record)
        if record.visits[place] == 0:
            if state[CLOSED]:
                state[UNRECORDED] += 1
                for pair in range(len(record.marks)):
                    record.lost_edges[pair] += record.words[pair // 62] >> (pair % 62) & 1
                return
            record.keys[place] = record.words
            record.scores[place] = score
            state[MODELS] += 1
        state[SLOT] = place
    record.visits[state[SLOT]] += 1


@njit(cache=True, nogil=True)
def refill(old, new):  # type: ignore[no-untyped-def]  # compiled
    """Put the models of one record into another with more places, which shares its other arrays."""
    words, mark = new.words.copy(), new.state[HASH]
    for i in range(len(old.visits)):
        if old.visits[i] > 0:
            hashed = 0
            for pair in range(len(new.marks)):
                if old.keys[i, pair // 62] >> (pair % 62) & 1:
                    hashed ^= new.marks[pair]
            new.words[:] = old.keys[i]
            new.state[HASH] = hashed
            place = _place(new)
            new.keys[place] = old.keys[i]
            new.visits[place] = old.visits[i]
            new.scores[place] = old.scores[i]
    new.words[:] = words
    new.state[HASH] = mark
    new.state[SLOT] = -1


@njit(cache=True, nogil=True)
def _swap(ladder, lower, log_uniform):  # type: ignore[no-untyped-def]  # compiled
    """Propose to exchange the graphs of two neighbouring rungs."""
    upper = lower + 1
    ladder.tally[lower, SWAPS] += 1
    gain = (ladder.betas[lower] - ladder.betas[upper]) * (ladder.scores[upper] - ladder.scores[lower])
    if log_uniform >= gain:
        return False
    for row in range(ladder.trees.shape[1]):
        for v in range(ladder.trees.shape[2]):
            held = ladder.trees[lower, row, v]
            ladder.trees[lower, row, v] = ladder.trees[upper, row, v]
            ladder.trees[upper, row, v] = held
    score = ladder.scores[lower]
    ladder.scores[lower] = ladder.scores[upper]
    ladder.scores[upper] = score
    ladder.tally[lower, SWAPPED] += 1
    return True


@njit(cache=True, nogil=True)
def walk(  # type: ignore[no-untyped-def]  # compiled
    data, work, ladder, draws, record, start, stretch, thin, trace_every, recording, growth, by_rotation
):
    """Make the moves drawn, from number `start` on.

    Rungs take turns of `stretch` moves; after each round every pair of neighbouring rungs may swap. With `recording`
    the cold chain is sampled every `thin` of its moves. `growth` multiplies the inverse temperatures after each move.
    """
    rungs = len(ladder.betas)
    turn = stretch * rungs
    for t in range(start, len(draws.first)):
        if is_full(work):
            return t, CACHE_FULL
        if 2 * record.state[MODELS] + 4 > len(record.visits) and not record.state[CLOSED]:
            return t, MODELS_FULL
        rung = (t // stretch) % rungs
        if rungs > 1 and t % turn == 0 and t > 0:
            for lower in range(rungs - 1):
                if _swap(ladder, lower, draws.swap[(t // turn * rungs + lower) % len(draws.swap)]) and lower == 0:
                    renew(record, ladder.trees[0])
        v, w, x = draws.first[t], draws.second[t], draws.third[t]
        tally = ladder.tally[rung]
        tally[PROPOSED] += 1
        beta = ladder.betas[rung]
        tree = ladder.trees[rung]
        made, gain = _attempt(data, work, tree, v, w, x, beta, draws.log_uniform[t], by_rotation)
        if made < 0:
            tally[REFUSED] += 1
        if made > 0:
            tally[ACCEPTED] += 1
            ladder.scores[rung] += gain
            if rung == 0:
                _flip(record, v, w)
                if x >= 0:
                    _flip(record, v, x)
                if ladder.scores[0] > record.best_score[0]:
                    record.best_score[0] = ladder.scores[0]
                    record.best[:] = tree[ADJACENCY]
        if growth != 1.0:
            ladder.betas[rung] *= growth
        if rung == 0 and recording:
            moved = tally[PROPOSED]
            if moved % thin == 0:
                _note(record, ladder.scores[0])
                if record.state[SAMPLES] % trace_every == 0 and record.state[TRACED] < len(record.trace):
                    record.trace[record.state[TRACED]] = ladder.scores[0]
                    record.state[TRACED] += 1
    return len(draws.first), DONE


@njit(cache=True, nogil=True)
def score_moves(data, work, tree, changes, start):  # type: ignore[no-untyped-def]  # compiled
    """Fill in the change of score of each single-edge move, NaN where illegal: pairs v > w in order. Returns
    the next pair.

    Stops early (before the last pair) when the cache must be given room.
    """
    n = tree.shape[1]
    pair = 0
    for v in range(n):
        for w in range(v):
            if pair >= start:
                if is_full(work):
                    return pair
                rest = legal_rest(tree, v, w, False)
                if rest == ILLEGAL:
                    changes[pair] = math.nan
                else:
                    gain = move_score(data, work, rest, v, w)
                    changes[pair] = -gain if tree[ADJACENCY, v] >> w & 1 else gain
            pair += 1
    return pair
