"""Samples of chance agreement as their attacker sees them: small groups of values, each under a key of its own.

A group of a few dozen values shows how often each occurs in it and how similar any two are. `group_alignment` looks for
the public values that explain both best, by a mean field that is cooled slowly and among many public values, and keeps
of several attempts the one that explains most: of 100 given names it now and then reads nearly all, which the fast
`block_likelihood` does not. Nothing joins values of two groups, so that each group is attacked by itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gemel.common.signatures import FieldSignatures
from gemel.custodian.leakage.block_model import count_likelihood
from gemel.custodian.leakage.block_view import BlockView
from gemel.custodian.leakage.mean_field import mean_field
from gemel.custodian.leakage.public import PublicValues
from gemel.custodian.leakage.recovery import UNKNOWN

ATTEMPTS = ((400, 0.002, 1.1), (2000, 0.002, 1.1))
"""Public values considered, first weight of the similarities, and its growth a step."""

SLACK = 0.002
"""Added to the variance of a similarity."""

_TWICE = 50.0

MIN_VALUES = 1000
"""Values of a field from which its samples could tell that a value is in the file. Of fewer, such as house numbers, an
attacker's list has those that any file holds; what she reads in a group, of no row, is about how common each is."""


def groups_view(field: FieldSignatures, groups: int, randomised_response: float = 0.0) -> BlockView:
    """A field's sample, whose rows are in `groups` groups of equal sizes, one after the other."""
    digests = np.repeat(np.arange(1, groups + 1, dtype=np.uint64), len(field.codes) // groups)
    return BlockView.of(field, digests, randomised_response)


def group_alignment(
    groups: BlockView,
    public: PublicValues,
    chosen: NDArray[np.int64],
    attempts: tuple[tuple[int, float, float], ...] = ATTEMPTS,
) -> NDArray[np.int64]:
    """Likeliest public value of each signature of some groups, each group by itself.

    Parameters
    ----------
    groups, public
        What Carole holds of a field's sample, and what everybody knows.
    chosen : ndarray of int64
        The groups attacked.
    attempts
        See `ATTEMPTS`.

    Returns
    -------
    ndarray of int64, shape (n_values,)
        ``UNKNOWN`` outside the chosen groups.

    Notes
    -----
    A second or two for a group of 30 and 2,000 public values on one core.
    """
    guesses = np.full(groups.view.n_values, UNKNOWN, dtype=np.int64)
    members = groups.members()
    explained = np.full(len(members), -np.inf)
    precision = 1.0 / (groups.view.noise + SLACK)
    for n_names, weight, growth in attempts:
        names = np.arange(min(n_names, len(public)))
        plain = public.similarity(names, names)
        for group in chosen.tolist():
            values = members[group]
            if not len(values):
                continue
            expected = groups.sizes[group : group + 1, None] * public.shares[names]
            fit = count_likelihood(groups.view.counts[values][None], expected)[0]
            similar = groups.view.similarity(values, values)
            named = mean_field(fit, similar, precision, plain, weight, growth).argmax(axis=1)
            off = (similar - plain[np.ix_(named, named)]) * (1 - np.eye(len(values)))
            total = float(fit[np.arange(len(values)), named].sum() - 0.25 * precision * (off**2).sum())
            total -= _TWICE * (len(named) - len(np.unique(named)))
            if total > explained[group]:
                explained[group] = total
                guesses[values] = names[named]
    return guesses
