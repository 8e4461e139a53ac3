"""Attacks on what a field holds back in mode open: its salt, and the similarity of values that are not listed.

Both grant the attacker what she can find out: which signatures share a salt, since only these resemble each other, and
which are of listed values, since only these resemble any. Large salts are attacked like files, small ones like blocks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from risk.leakage.block_likelihood import block_likelihood
from risk.leakage.block_view import BlockView
from risk.leakage.public import PublicValues
from risk.leakage.recovery import UNKNOWN
from risk.leakage.similarity_graph import similarity_graph_alignment
from risk.leakage.view import FieldView

BLOCK_VALUES = 200
"""Values up to which a salt is attacked like a block."""

MOST_VALUES = 1500
"""Values of a salt attacked otherwise, the commonest."""


def salt_by_salt(salts: BlockView, public: PublicValues, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Public value of each signature of some salts, each salt by itself; ``UNKNOWN`` elsewhere.

    Parameters
    ----------
    salts
        The field, with its salts as blocks.
    public
        What everybody knows.
    chosen : ndarray of int64
        The salts attacked.

    Returns
    -------
    ndarray of int64, shape (n_values,)
    """
    members = salts.members()
    small = np.array([len(members[salt]) <= BLOCK_VALUES for salt in chosen], dtype=bool)
    guesses = block_likelihood(salts, public, chosen[small])
    for salt in chosen[~small]:
        values = members[salt]
        alone = FieldView(salts.view.signatures[values], salts.view.counts[values], salts.view.flip)
        guesses[values] = similarity_graph_alignment(alone, public, most=MOST_VALUES).guesses
    return guesses


def listed_alone(view: FieldView, public: PublicValues, listed: NDArray[np.bool_], most: int) -> NDArray[np.int64]:
    """Public value of each signature of a listed value, the others left aside; ``UNKNOWN`` for those.

    Parameters
    ----------
    view, public
        What Carole holds, and what everybody knows, with the list.
    listed : ndarray of bool, shape (n_values,)
        Which signatures are of listed values.
    most
        So many of the commonest are attacked.

    Returns
    -------
    ndarray of int64, shape (n_values,)
    """
    guesses = np.full(view.n_values, UNKNOWN, dtype=np.int64)
    names, here = public.listed, np.flatnonzero(listed)
    if not len(names) or not len(here):
        return guesses
    values = [public.values[name] for name in names]
    known = PublicValues(values, public.shares[names], public.tokenisation)
    alone = FieldView(view.signatures[here], view.counts[here], view.flip)
    found = similarity_graph_alignment(alone, known, most=most).guesses
    # Both are in the order of their counts, so that a place among the listed is one of `names`.
    guesses[here] = np.where(found == UNKNOWN, UNKNOWN, names[found])
    return guesses
