"""Metropolis-Hastings over decomposable graphs in compiled code: one walk serves sampling, tempering and annealing.

A move names a node v and one or two others; it changes the edge (v, w) and, for a double move, (v, x) after it. Which
nodes are named does not depend on the graph, every intermediate graph must be decomposable, and a double move
taken backwards is proposed as often as forwards: so the proposal is symmetric and the target is the uniform prior
over graphs times the marginal likelihood. A move that would leave the decomposable graphs is a rejected step.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from numba import njit

from gemel.risk.arrays import Floats, Integers
from gemel.risk.models.junction_trees import is_complete, separated
from gemel.risk.models.scores import is_full, move_score

ILLEGAL = -1
PROPOSED, ACCEPTED, REFUSED, SWAPS, SWAPPED = range(5)
HASH, SLOT, MODELS, CLOSED, UNRECORDED, SAMPLES, TRACED = range(7)
DONE, CACHE_FULL, MODELS_FULL = range(3)


class Ladder(NamedTuple):
    """Chains at several inverse temperatures, the cold one first (a single one unless tempered)."""

    graphs: Integers  # (rungs, n): adjacency
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
def legal_rest(graph, v, w):  # type: ignore[no-untyped-def]  # compiled
    """The rest of the clique that changing edge (v, w) concerns, or `ILLEGAL`.

    The change of the score is, for the rest S, that of the clique S + v + w times S over S + v times S + w: added,
    or, for a deletion, taken away.
    """
    common = graph[v] & graph[w]
    legal = is_complete(graph, common) if graph[v] >> w & 1 else separated(graph, v, w)
    return common if legal else ILLEGAL


@njit(cache=True, nogil=True)
def change(graph, v, w):  # type: ignore[no-untyped-def]  # compiled
    graph[v] ^= 1 << w
    graph[w] ^= 1 << v


@njit(cache=True, nogil=True)
def _attempt(data, work, graph, v, w, x, beta, log_uniform):  # type: ignore[no-untyped-def]  # compiled
    """One move: (-1, 0) if illegal, (0, 0) if refused, (1, change of score) if made."""
    rest = legal_rest(graph, v, w)
    if rest == ILLEGAL:
        return -1, 0.0
    gain = move_score(data, work, rest, v, w)
    if graph[v] >> w & 1:
        gain = -gain
    if x < 0:
        if log_uniform < beta * gain:
            change(graph, v, w)
            return 1, gain
        return 0, 0.0
    change(graph, v, w)
    rest = legal_rest(graph, v, x)
    outcome = -1
    if rest != ILLEGAL:
        second = move_score(data, work, rest, v, x)
        if graph[v] >> x & 1:
            second = -second
        gain += second
        outcome = 0
        if log_uniform < beta * gain:
            change(graph, v, x)
            return 1, gain
    change(graph, v, w)
    return outcome, 0.0


@njit(cache=True, nogil=True)
def _flip(record, v, w):  # type: ignore[no-untyped-def]  # compiled
    pair = record.pairs[v, w]
    record.words[pair // 62] ^= 1 << (pair % 62)
    record.state[HASH] ^= record.marks[pair]
    record.state[SLOT] = -1


@njit(cache=True, nogil=True)
def renew(record, graph):  # type: ignore[no-untyped-def]  # compiled
    """Set the record's present model from a graph."""
    record.words[:] = 0
    record.state[HASH] = 0
    for v in range(len(graph)):
        for w in range(v):
            if graph[v] >> w & 1:
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
    for v in range(ladder.graphs.shape[1]):
        ladder.graphs[lower, v], ladder.graphs[upper, v] = ladder.graphs[upper, v], ladder.graphs[lower, v]
    ladder.scores[lower], ladder.scores[upper] = ladder.scores[upper], ladder.scores[lower]
    ladder.tally[lower, SWAPPED] += 1
    return True


@njit(cache=True, nogil=True)
def walk(  # type: ignore[no-untyped-def]  # compiled
    data, work, ladder, draws, record, start, stretch, thin, trace_every, recording, growth
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
                    renew(record, ladder.graphs[0])
        v, w, x = draws.first[t], draws.second[t], draws.third[t]
        tally = ladder.tally[rung]
        tally[PROPOSED] += 1
        beta = ladder.betas[rung]
        graph = ladder.graphs[rung]
        made, gain = _attempt(data, work, graph, v, w, x, beta, draws.log_uniform[t])
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
                    record.best[:] = graph
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
def score_moves(data, work, graph, changes, start):  # type: ignore[no-untyped-def]  # compiled
    """Fill in the change of score of each single-edge move, NaN where illegal: pairs v > w in order. Returns
    the next pair.

    Stops early (before the last pair) when the cache must be given room.
    """
    pair = 0
    for v in range(len(graph)):
        for w in range(v):
            if pair >= start:
                if is_full(work):
                    return pair
                rest = legal_rest(graph, v, w)
                if rest == ILLEGAL:
                    changes[pair] = math.nan
                else:
                    gain = move_score(data, work, rest, v, w)
                    changes[pair] = -gain if graph[v] >> w & 1 else gain
            pair += 1
    return pair
