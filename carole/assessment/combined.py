"""The combined output: linked records with both custodians' codes side by side, and each link's probability.

A record of the combined output is a link. It also holds the pairs that came close to a link, each with its link
probability, so that a count can be taken as decided (each link counts 1) or as expected (each pair counts its link
probability).

In mode block_keyed Carole has only the codes of the links: the resolver reports them without the pairs that came close,
whose graph could be recognised. Expected counts are then of links only, and `left_out` is the part that is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.decision.coded_links import GROUP
from gemel.carole.engine.resolution.resolution_exchange import MIN_PROBABILITY
from gemel.carole.engine.resolution.resolution_result import ResolutionResult
from gemel.carole.engine.run.result import Linkage
from gemel.carole.fellegi_sunter.entities import Entities
from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.errors import GemelError, parameter
from gemel.common.parties import Side
from gemel.common.signatures.signature_sets import MISSING, SignatureSet
from gemel.common.specification import Specification, VariableSpec
from gemel.risk.arrays import Codes, Floats, Integers

_Rows = tuple[Integers, Integers, Floats]
"""Rows of both files in pairs, and the probability of each pair."""


@dataclass(frozen=True)
class Combined:
    """The combined output, and the two files it was made of.

    Parameters
    ----------
    alice, bob : ndarray of int32, shape (n_rows, n_variables)
        Codes of every row of the two files; -1 where missing, and for all variables that only the other file holds.
    row_a, row_b : ndarray of int64, shape (n_links,)
        The links.
    probability : ndarray of float64, shape (n_links,)
        Link probability of each.
    pair_a, pair_b : ndarray of int64, shape (n_pairs,)
        Pairs that may be links, the links among them.
    pair_probability : ndarray of float64, shape (n_pairs,)
    left_out : float
        Matches expected among pairs whose codes are not known, and which are therefore not among the pairs.
    warnings
        What a reader must know about how it was made.

    Raises
    ------
    GemelError
        PARAMETER for rows outside the files, values that are not probabilities, arrays of different lengths.
    """

    variables: tuple[VariableSpec, ...]
    alice: Codes = field(repr=False)
    bob: Codes = field(repr=False)
    row_a: Integers = field(repr=False)
    row_b: Integers = field(repr=False)
    probability: Floats = field(repr=False)
    pair_a: Integers = field(repr=False)
    pair_b: Integers = field(repr=False)
    pair_probability: Floats = field(repr=False)
    left_out: float = 0.0
    warnings: tuple[ResultWarning, ...] = ()

    def __post_init__(self) -> None:
        for where, rows_a, rows_b, chance in (
            ("links", self.row_a, self.row_b, self.probability),
            ("pairs", self.pair_a, self.pair_b, self.pair_probability),
        ):
            if not len(rows_a) == len(rows_b) == len(chance):
                raise _wrong("expected two rows and a probability for each", where, f"{len(rows_a)} and {len(chance)}")
            for rows, n in ((rows_a, len(self.alice)), (rows_b, len(self.bob))):
                if len(rows) and (rows.min() < 0 or rows.max() >= n):
                    raise _wrong("a row is outside its file", where, f"{n} rows")
            if len(chance) and not (np.isfinite(chance).all() and chance.min() >= 0 and chance.max() <= 1):
                raise _wrong("expected probabilities", where, "others")

    @property
    def n_records(self) -> int:
        """Linked records."""
        return len(self.row_a)

    @property
    def n_bytes(self) -> int:
        """Memory, with `codes` and `pair_codes`."""
        each = 4 * len(self.variables)
        rows = (len(self.alice) + len(self.bob) + self.n_records + len(self.pair_a)) * each
        return rows + 24 * (self.n_records + len(self.pair_a))

    def own(self, side: Side) -> tuple[Codes, Integers, Integers]:
        """A custodian's codes, and its rows of the links and of the pairs that may be links."""
        if side is Side.ALICE:
            return self.alice, self.row_a, self.pair_a
        return self.bob, self.row_b, self.pair_b

    @cached_property
    def codes(self) -> Codes:
        """One value for each linked record and variable, shape (n_links, n_variables); -1 where neither file has it.

        Of a variable that both hold: Alice's value, or where she has none, Bob's.
        """
        return self.side_by_side(self.row_a, self.row_b)

    @cached_property
    def pair_codes(self) -> Codes:
        """The same for the pairs that may be links."""
        return self.side_by_side(self.pair_a, self.pair_b)

    def side_by_side(self, rows_a: Integers, rows_b: Integers) -> Codes:
        """The same for any pairs of rows."""
        a, b = self.alice[rows_a], self.bob[rows_b]
        return np.where(a >= 0, a, b)

    @cached_property
    def disagreements(self) -> dict[str, int]:
        """Linked records whose two values differ, for each variable that both hold."""
        a, b = self.alice[self.row_a], self.bob[self.row_b]
        differ = ((a >= 0) & (b >= 0) & (a != b)).sum(axis=0)
        return {v.name: int(n) for v, n in zip(self.variables, differ, strict=True) if v.holder == "both"}

    def columns(self, names: Sequence[str]) -> list[int]:
        places = {variable.name: q for q, variable in enumerate(self.variables)}
        return [places[name] for name in names]

    def with_role(self, role: str, side: Side | None = None) -> list[str]:
        """Names of the variables of a role, that a custodian holds if one is given."""
        return [v.name for v in self.variables if v.role == role and (side is None or v.held_by(side))]

    def hangs(self, name: str) -> bool:
        """Whether a variable is of one file and some key of the other: whose value it is hangs on the links."""
        (holder,) = (v.holder for v in self.variables if v.name == name)
        return holder != "both" and any(v.role == "key" and v.holder not in ("both", holder) for v in self.variables)


def combine(linkage: Linkage, alice: SignatureSet, bob: SignatureSet, spec: Specification) -> Combined:
    """The combined output of a run, of two contributions with their variables' codes.

    Under the assignment clusters a record of either file is a person, with the codes of the record in his most probable
    pair: records of one person with equal codes would hide that he is unique. O(rows * variables + pairs).
    """
    if linkage.entities is not None:
        return _of_persons(linkage, linkage.entities, alice, bob, spec)
    pairs = linkage.pairs
    chance = np.clip(pairs.link_probability, 0.0, 1.0)
    near = chance >= MIN_PROBABILITY
    near[linkage.links] = True

    def chosen(which: NDArray[Any]) -> _Rows:
        rows_a, rows_b = pairs.row_a[which].astype(np.int64), pairs.row_b[which].astype(np.int64)
        return rows_a, rows_b, chance[which].astype(np.float64)

    return _output(spec, _codes(alice, bob, spec), chosen(linkage.links), chosen(near))


def _of_persons(
    linkage: Linkage, entities: Entities, alice: SignatureSet, bob: SignatureSet, spec: Specification
) -> Combined:
    """The combined output of persons: of all pairs of their records the most probable one stands for two persons."""
    pairs = linkage.pairs
    order = np.argsort(-pairs.link_probability, kind="stable")
    persons, shown = [], []
    for entity, rows in ((entities.a, pairs.row_a), (entities.b, pairs.row_b)):
        ranked = np.concatenate([rows[order], np.arange(len(entity))])
        _, first, person = np.unique(entity[ranked], return_index=True, return_inverse=True)
        persons.append(person[len(order) :])
        shown.append(ranked[first])
    person_a, person_b = persons[0][pairs.row_a], persons[1][pairs.row_b]
    _, best = np.unique(person_a[order] * len(shown[1]) + person_b[order], return_index=True)
    best = order[np.sort(best)]
    chance = np.clip(pairs.link_probability[best], 0.0, 1.0)
    person_a, person_b = person_a[best], person_b[best]
    linked = entities.a[pairs.row_a[best]] == entities.b[pairs.row_b[best]]
    near = linked | (chance >= MIN_PROBABILITY)
    of_a, of_b = _codes(alice, bob, spec)
    links, pairs_near = ((person_a[which], person_b[which], chance[which]) for which in (linked, near))
    return _output(spec, (of_a[shown[0]], of_b[shown[1]]), links, pairs_near)


def combine_coded(answer: ResolutionResult, alice: SignatureSet, bob: SignatureSet, spec: Specification) -> Combined:
    """The combined output of a run in mode block_keyed, whose answer must give the links by their rows of codes."""
    links = answer.coded
    if links is None:
        raise _wrong("expected the links with their rows of codes", "links", "none")
    rows = links.row_a.astype(np.int64), links.row_b.astype(np.int64), links.probability
    warning = result_warning("codes_of_links_only", matches=answer.left_out, group=GROUP)
    return replace(_output(spec, _codes(alice, bob, spec), rows, rows), left_out=answer.left_out, warnings=(warning,))


def _output(spec: Specification, codes: tuple[Codes, Codes], links: _Rows, pairs: _Rows) -> Combined:
    (row_a, row_b, chance), (pair_a, pair_b, of_pair) = links, pairs
    return Combined(tuple(spec.variables), codes[0], codes[1], row_a, row_b, chance, pair_a, pair_b, of_pair)


def _codes(alice: SignatureSet, bob: SignatureSet, spec: Specification) -> tuple[Codes, Codes]:
    """The codes of both files, -1 for variables that only the other one holds."""
    files = []
    for part, side in ((alice, Side.ALICE), (bob, Side.BOB)):
        codes = np.full((part.n_rows, len(spec.variables)), MISSING, dtype=np.int32)
        for q, variable in enumerate(spec.variables):
            if variable.held_by(side):
                codes[:, q] = part.variables[variable.name].codes
        files.append(codes)
    return files[0], files[1]


def _wrong(what: str, where: str, got: str) -> GemelError:
    return parameter(f"combined output, {where}", what, got)
