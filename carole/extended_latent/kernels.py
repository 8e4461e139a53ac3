"""Compiled passes: Bayes factors of pairs, and the E-step over classes of pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from gemel.common.arrays import F64, I32, I64

LARGEST = 700.0
"""A log Bayes factor is kept within this of 0: outside it, probabilities are 0 or 1 whatever else is known."""


class FileLayout(NamedTuple):
    """One file's part of the Bayes factors: rows, configurations (distinct values of a row) and their shapes."""

    configuration: I32  # (n_rows,)
    codes: I32  # (n_configurations, n_columns): categories of the model's variables; -1 is missing
    shape: I64  # (n_configurations,): which of its own variables it has, as a number
    terms: F64  # (n_shapes_of_the_other * n_sets_of_keys, n_configurations): this side's own contributions
    alone: I32  # (n_rows, n_alone): codes of the keys that stand alone


class JointLayout(NamedTuple):
    """Tables that hold variables of both files, and factors of the keys that stand alone."""

    keys: I64  # (n_keys,): columns of the keys of the joint model
    n_shapes_b: int  # of Bob's configurations
    factor_start: I64  # (n_plans + 1,): a plan's factors begin here and end where the next plan's begin
    table_start: I64  # (n_factors,): in `tables`
    variable_start: I64  # (n_factors + 1,): a factor's variables, likewise
    # Of each: whether its code is Alice's (1) or Bob's; its column; its stride in the table.
    variables: I64  # (n_factor_variables, 3)
    tables: F64  # (n_cells,): natural logarithms, one table after the other
    alone_start: I64  # (n_alone,): in `alone_factors`
    alone_factors: F64  # (n_alone_values + 1,): log Bayes factor of agreement on each value


@njit(nogil=True, cache=True)
def pair_factors(row_a: I32, row_b: I32, alice: FileLayout, bob: FileLayout, joint: JointLayout, result: F64) -> None:
    """Write the natural log Bayes factor of each pair, within `LARGEST` of 0.

    Rows point to configurations, and these to which variables they have (their shape). A pair's two shapes and the keys
    that agree determine its plan: each side's own contribution (`terms`), and the tables that hold variables of both.

    `row_a`, `row_b` (int32, shape (n_pairs,)); `result` (float64, shape (n_pairs,)): overwritten.
    """
    n_sets = 1 << joint.keys.size
    for i in range(row_a.size):
        total = 0.0
        for k in range(alice.alone.shape[1]):
            x = alice.alone[row_a[i], k]
            if x >= 0 and x == bob.alone[row_b[i], k]:
                total += joint.alone_factors[joint.alone_start[k] + x]
        if alice.codes.shape[1]:  # else all keys stand alone
            a = alice.configuration[row_a[i]]
            b = bob.configuration[row_b[i]]
            agree = 0
            for k in range(joint.keys.size):
                x = alice.codes[a, joint.keys[k]]
                if x >= 0 and x == bob.codes[b, joint.keys[k]]:
                    agree |= 1 << k
            plan = (alice.shape[a] * joint.n_shapes_b + bob.shape[b]) * n_sets + agree
            total += alice.terms[bob.shape[b] * n_sets + agree, a] + bob.terms[alice.shape[a] * n_sets + agree, b]
            for f in range(joint.factor_start[plan], joint.factor_start[plan + 1]):
                cell = joint.table_start[f]
                for v in range(joint.variable_start[f], joint.variable_start[f + 1]):
                    column = joint.variables[v, 1]
                    code = alice.codes[a, column] if joint.variables[v, 0] else bob.codes[b, column]
                    cell += joint.variables[v, 2] * code
                total += joint.tables[cell]
        if total > LARGEST:
            total = LARGEST
        elif not total >= -LARGEST:  # minus infinity less minus infinity is impossible too
            total = -LARGEST
        result[i] = total


@njit(nogil=True, cache=True)
def expectation(pattern: I32, offset: F64, count: F64, log_odds: F64, log_other: F64, matches: F64) -> float:
    """Write the expected `matches` of every pattern, from classes of pairs with one pattern and one log Bayes factor.

    `log_odds`: posterior log odds of a pair of the pattern by Fellegi-Sunter alone; `log_other`: log probability of
    being no match and having the pattern. Returns the log likelihood of the classes, less that of their values among
    non-matches, which does not change.
    """
    matches[:] = 0.0
    likelihood = 0.0
    for i in range(pattern.size):
        odds = log_odds[pattern[i]] + offset[i]
        if odds > 0:
            e = np.exp(-odds)
            g = 1.0 / (1.0 + e)
            likelihood += count[i] * (log_other[pattern[i]] + odds + np.log1p(e))
        else:
            e = np.exp(odds)
            g = e / (1.0 + e)
            likelihood += count[i] * (log_other[pattern[i]] + np.log1p(e))
        matches[pattern[i]] += count[i] * g
    return likelihood


@njit(nogil=True, cache=True)
def take(row_a: I32, row_b: I32, weight: F64, heaviest: float, seed: int, taken: I64, counts_as: F64) -> int:
    """Take pairs with probability weight / heaviest, each counting as `heaviest`; heavier ones always, as themselves.

    Whether a pair is taken depends on its rows and the seed only, not on the order of the pairs. Returns how many are.
    """
    n = 0
    for i in range(row_a.size):
        w = weight[i]
        if w <= 0.0:
            continue
        if w < heaviest:
            h = np.uint64(row_a[i]) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(row_b[i])
            h = (h ^ np.uint64(seed)) * np.uint64(0xBF58476D1CE4E5B9)
            h ^= h >> np.uint64(29)
            h *= np.uint64(0x94D049BB133111EB)
            h ^= h >> np.uint64(32)
            if np.float64(h >> np.uint64(11)) * 2.0**-53 * heaviest >= w:
                continue
            w = heaviest
        taken[n] = i
        counts_as[n] = w
        n += 1
    return n
