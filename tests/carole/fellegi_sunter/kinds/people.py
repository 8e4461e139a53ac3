"""Two files of people whose relatives are in the other file, or who moved in between, compared for equality."""

import numpy as np

from benchmarks.dependence import counted
from gemel.carole.fellegi_sunter.settings import FieldLevels

FIELDS = [
    FieldLevels("given", 2, describes="name"),
    FieldLevels("born", 2, describes="birth"),
    FieldLevels("sex", 2, describes="trait"),
    FieldLevels("surname", 2, describes="family"),
    FieldLevels("street", 2, describes="household"),
    FieldLevels("town", 2, describes="household"),
]
GIVEN, BORN, SEX, SURNAME, STREET, TOWN = range(6)
STREETS_OF_A_TOWN = 50


def shared(*names):
    """The kind of pairs that share these fields."""
    return sum(1 << q for q, field in enumerate(FIELDS) if field.name in names)


def skewed(rng, values, n):
    """Values of which the first are the most frequent, as names are."""
    share = 1.0 / np.arange(10, values + 10)
    return rng.choice(values, n, p=share / share.sum())


def homes(rng, n):
    """Streets and towns: a street is in one town."""
    street = rng.integers(0, 20 * STREETS_OF_A_TOWN, n)
    return np.column_stack([street, street // STREETS_OF_A_TOWN])


def people(rng, n):
    given = skewed(rng, 200, n)
    born, sex, surname = rng.integers(0, 365 * 60, n), given % 2, skewed(rng, 400, n)
    return np.column_stack([given, born, sex, surname, homes(rng, n)])


def other_given(rng, found):
    """The same with other given names, of either sex."""
    found = found.copy()
    found[:, GIVEN] = skewed(rng, 200, len(found))
    found[:, SEX] = found[:, GIVEN] % 2
    return found


def siblings(rng, of):
    found = other_given(rng, of)
    found[:, BORN] = rng.integers(0, 365 * 60, len(found))
    return found


def twins(rng, of):
    return other_given(rng, of)


def sons(rng, of):
    """Of their fathers' name, at their fathers' address."""
    found = of.copy()
    found[:, BORN] = rng.integers(0, 365 * 60, len(found))
    return found


def two_files(seed, n=1200, common=200, moved=0.0, errors=0.03, kin=None, share=0.0):
    """Files of `n` people each, the first `common` of them the same.

    Of these a share `moved` lives elsewhere in B, and every field of B has errors. A share of the others of B are
    relatives of people of A, in common or not.
    """
    rng = np.random.default_rng(seed)
    a = people(rng, n)
    b = np.vstack([a[:common], people(rng, n - common)])
    if kin is not None:
        row = common + np.flatnonzero(rng.random(n - common) < share)
        b[row] = kin(rng, a[rng.choice(n, len(row), replace=False)])
    gone = np.flatnonzero(rng.random(common) < moved)
    b[gone, STREET:] = homes(rng, len(gone))
    for q in range(b.shape[1]):
        wrong = np.flatnonzero(rng.random(n) < errors)
        b[wrong, q] = 1 - b[wrong, q] if q == SEX else 10**6 + rng.integers(0, 10**6, len(wrong))
    return counted(a, b, common)
