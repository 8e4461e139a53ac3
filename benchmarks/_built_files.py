"""Two files built field by field as signatures, with errors that are independent or cluster in records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine import FieldPlan, LinkagePlan
from gemel.common.signatures.signature_sets import FieldSignatures, SignatureSet
from gemel.common.specification import LEVELS

BITS = 256
SIZES = {"given_name": 120, "surname": 250, "born": 400, "town": 40, "street": 150, "sex": 2}
"""Distinct values of each field, of which some are far more common than others, but for sex."""

ERRORS = {"given_name": 0.12, "surname": 0.12, "born": 0.1, "town": 0.15, "street": 0.2, "sex": 0.03}
"""Share of records of the second file with another value, by field."""

CHECK = "sex"


@dataclass(frozen=True)
class BuiltFiles:
    """Two files whose first `common` rows are the same people."""

    a: SignatureSet
    b: SignatureSet
    common: int


def built_files(n: int, common: int, rng: np.random.Generator, *, clustered: bool) -> BuiltFiles:
    """Two files of `n` people, whose fields are independent of each other.

    Notes
    -----
    Half of the errors leave a similar value, as a typing error does; the others any value.
    """
    careless = rng.random(n) < 0.25
    sides: tuple[dict[str, FieldSignatures], dict[str, FieldSignatures]] = {}, {}
    for name, size in SIZES.items():
        share = np.full(size, 1 / size) if name == CHECK else rng.dirichlet(np.full(size, 0.7))
        value_a, value_b = rng.choice(size, n, p=share), rng.choice(size, n, p=share)
        value_b[:common] = value_a[:common]
        rate = np.where(careless, 4 * ERRORS[name], 0.0) if clustered else np.full(n, ERRORS[name])
        wrong, typed = rng.random(n) < rate, rng.random(n) < 0.5
        other = rng.choice(size, n, p=share)
        if name == CHECK:
            value_b = np.where(wrong, 1 - value_b, value_b)
        else:
            value_b = np.where(wrong, np.where(typed, value_b + size, other), value_b)
        signatures = rng.integers(0, 2**64, (size, BITS // 64), dtype=np.uint64)
        # Of a similar value a fifth of the bits differ.
        differing = np.packbits(rng.random((size, BITS)) < 0.2, axis=1).view(np.uint64)
        signatures = np.concatenate([signatures, signatures ^ differing])
        for side, values in zip(sides, (value_a, value_b), strict=True):
            used, codes = np.unique(values, return_inverse=True)
            side[name] = FieldSignatures(BITS, signatures[used], codes.ravel().astype(np.int32))
    return BuiltFiles(SignatureSet("", n, sides[0], {}), SignatureSet("", n, sides[1], {}), common)


def with_built_decoys(files: BuiltFiles, decoys: int, rng: np.random.Generator) -> BuiltFiles:
    """The files with decoys after their records: a random half of each one's fields is from either of two records."""

    def extended(part: SignatureSet) -> SignatureSet:
        household = rng.integers(0, part.n_rows, decoys)
        person = (household + rng.integers(1, part.n_rows, decoys)) % part.n_rows
        of_person = rng.random((decoys, len(part.fields))).argsort(axis=1).argsort(axis=1) < len(part.fields) // 2
        fields = {}
        for q, (name, field) in enumerate(part.fields.items()):
            codes = field.codes[np.where(of_person[:, q], person, household)]
            fields[name] = FieldSignatures(field.bits, field.signatures, np.concatenate([field.codes, codes]))
        return SignatureSet(part.rule, part.n_rows + decoys, fields, {})

    return BuiltFiles(extended(files.a), extended(files.b), files.common)


def built_plan(seed: int, replicates: int) -> LinkagePlan:
    """Of built files: the check field held out, no dependence, no blocking."""
    fields = tuple(FieldPlan(name, BITS, LEVELS["em8"]) for name in SIZES if name != CHECK)
    check = FieldPlan(CHECK, BITS, LEVELS["exact"])
    return LinkagePlan(fields, seed=seed, check_field=check, replicates=replicates)


def matches_of(files: BuiltFiles, row_a: NDArray[np.int32], row_b: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether each pair of rows is one person."""
    return np.asarray((row_a == row_b) & (row_a < files.common))
