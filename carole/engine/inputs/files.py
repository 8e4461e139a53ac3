"""The values of the extended latent step: codes of both files' category variables, and keys by their signatures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.pairs.linkage_input import LinkageInput, without_key_warnings
from gemel.carole.engine.pairs.preparation import BothSets, Samples, check_fields, mismatch
from gemel.carole.engine.pairs.shards import ShardedPairs
from gemel.carole.engine.pairs.whole_pairs import WholePairs
from gemel.carole.engine.run.contribution import Contribution
from gemel.carole.engine.run.plan import LatentPlan, LinkagePlan
from gemel.carole.engine.run.resources import RunContext
from gemel.carole.extended_latent import Values, Variable
from gemel.common.arrays import F64, I32, I64, U64, Ints
from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.errors import parameter
from gemel.common.parties import Side
from gemel.common.progress import StageProgress
from gemel.common.signatures.layout import GROUPS
from gemel.common.signatures.signature_sets import MISSING, FieldSignatures, SignatureSet, layout_of

# More weight for agreement on a rare value: the value-specific weight of Fellegi and Sunter, an option of a field.
#
# For a pair that agrees exactly on a value x of a field, two different people do so by chance with probability
# :math:`P(x)^2`, two records of one person with probability P(x). Given that they agree exactly, the additional Bayes
# factor is
#
# .. math:: \frac{P(x)}{P(x)^2 / c} = \frac{c}{P(x)}, \qquad c = \sum_x P(x)^2 ,
#
# above 1 for a value rarer than non-matches that agree have on average. Both distributions sum to 1, so that m and u,
# which hold whatever the value is, are unchanged; the factor is added to a pair's weight in the decision.
# Frequencies are those of the distinct signatures in both files, each file with weight one half: no further data are
# sent for it, and a value that is missing on either side or not equal on both adds nothing.
#
# Factors of several fields multiply, as if their values were independent: a rare suburb and its rare postcode would
# count twice. The option is set for each field; set it for only one of such fields.


Codes = I64


def joint_codes(a: FieldSignatures, b: FieldSignatures) -> tuple[Codes, Codes]:
    """Codes of the values on both sides, equal where signatures (or values) are; -1 where a value is missing."""
    both = np.ascontiguousarray(np.concatenate([a.signatures, b.signatures]))
    _, joint = np.unique(both.view([("", both.dtype)] * both.shape[1]).ravel(), return_inverse=True)
    of_a, of_b = np.split(joint.ravel().astype(np.int64), [len(a.signatures)])
    # The code of a missing value, -1, finds the last place.
    return np.append(of_a, -1)[a.codes], np.append(of_b, -1)[b.codes]


def value_weights(code_a: Codes, code_b: Codes) -> F64:
    """Weight of agreement on each value, in bits: log2 of c / P(x).

    Returns float64, shape (n_values,): 0 for a value that no row has.
    """
    n = max(int(code_a.max(initial=-1)), int(code_b.max(initial=-1))) + 1
    share = np.zeros(n)
    for code in (code_a, code_b):
        there = code[code >= 0]
        if len(there):
            share += np.bincount(there, minlength=n) / (2 * len(there))
    share /= max(float(share.sum()), 1e-300)
    chance = float(share @ share)
    seen = share > 0
    weights = np.zeros(n)
    weights[seen] = np.log2(chance / share[seen])
    return weights


def rarity(a: SignatureSet, b: SignatureSet, names: Sequence[str], row_a: Ints, row_b: Ints) -> F64:
    """What the rarity of common values adds to the weight of pairs, in bits.

    `row_a`, `row_b` (int, shape (n_pairs,)). Returns float64, shape (n_pairs,). O(distinct values log distinct values +
    rows + pairs) a field.
    """
    total = np.zeros(len(row_a))
    for name in names:
        code_a, code_b = joint_codes(a.fields[name], b.fields[name])
        weights = value_weights(code_a, code_b)
        first, second = code_a[row_a], code_b[row_b]
        agree = (first == second) & (first >= 0)
        total[agree] += weights[first[agree]]
    return total


def check_variables(a: SignatureSet, b: SignatureSet, latent: LatentPlan) -> None:
    """Raise `GemelError` (ENCODING_MISMATCH) unless both sets carry the variables that the plan assigns to them."""
    for side, part in ((Side.ALICE, a), (Side.BOB, b)):
        for variable in latent.held_by(str(side)):
            held = part.variables.get(variable.name)
            if held is None or held.categories != variable.categories:
                got = "none" if held is None else f"{held.categories} categories"
                expected = f"codes of {variable.categories} categories expected"
                raise mismatch(expected, f"{side}, variable {variable.name}", got)


def values_of(a: SignatureSet, b: SignatureSet, latent: LatentPlan) -> tuple[Values | None, list[ResultWarning]]:
    """The codes of the value model's variables, and what was left out.

    A variable without values is left out, as is a key that only one file has values of. If nothing is left that could
    give evidence on a pair, there is no value model.

    Returns `Values` or None: keys first, in the order of the plan. A key among the variables that both hold has its
    categories for levels; another has the distinct signatures of both files, equal ones of both files under one code.
    """
    variables: list[Variable] = []
    columns: list[tuple[I32, I32]] = []
    warnings: list[ResultWarning] = []
    both = {variable.name: variable for variable in latent.variables if variable.holder == "both"}
    for key in latent.keys:
        if key in both:
            levels = both[key].categories
            codes = a.variables[key].codes.astype(np.int32), b.variables[key].codes.astype(np.int32)
        else:
            joint = joint_codes(a.fields[key], b.fields[key])
            levels = max(int(part.max(initial=-1)) for part in joint) + 1
            codes = joint[0].astype(np.int32), joint[1].astype(np.int32)
        if levels < 2 or not all((part >= 0).any() for part in codes):
            reason = "a file has no values of it, or it has only one"
            warnings.append(result_warning("variable_left_out", variable=key, reason=reason))
            continue
        variables.append(Variable(key, "both", levels))
        columns.append(codes)
    for variable in latent.variables:
        if variable.holder == "both":
            continue
        own = (a if variable.holder == "alice" else b).variables[variable.name].codes.astype(np.int32)
        if not (own >= 0).any():
            reason = "no record has a category of it"
            warnings.append(result_warning("variable_left_out", variable=variable.name, reason=reason))
            continue
        variables.append(Variable(variable.name, variable.holder, variable.categories))
        nothing = np.full((b if variable.holder == "alice" else a).n_rows, MISSING, dtype=np.int32)
        columns.append((own, nothing) if variable.holder == "alice" else (nothing, own))
    held = {variable.holder for variable in variables}
    if "both" not in held and not {"alice", "bob"} <= held:
        warnings.append(result_warning("latent_step_left_out"))
        return None, warnings
    codes_a, codes_b = (np.stack([column[side] for column in columns], axis=1) for side in (0, 1))
    return Values(tuple(variables), codes_a, codes_b), warnings


class WholeFiles(LinkageInput):
    """The contributions of modes open and trusted."""

    def __init__(self, a: SignatureSet, b: SignatureSet) -> None:
        self.rows: BothSets = a, b
        self.n_records = a.n_rows, b.n_rows
        self.distinct_records: BothSets = self.rows

    def check(self, plan: LinkagePlan) -> None:
        for side, part in zip(Side, self.rows, strict=True):
            check_fields(side, part.n_rows, part.layout, plan)
        if plan.latent is not None:
            check_variables(*self.rows, plan.latent)

    def pairs(self, context: RunContext, progress: StageProgress) -> WholePairs:
        _take_input(context, *self.rows, *self.distinct_records)
        records = Samples(self.distinct_records, self.n_records, within=self.within)
        return WholePairs(self.rows, records, context, progress)


class BlockKeyedFiles(LinkageInput):
    """The contributions of mode block_keyed."""

    def __init__(self, a: Contribution, b: Contribution) -> None:
        self._a, self._b = a, b
        self.n_records = a.n_records, b.n_records

    def check(self, plan: LinkagePlan) -> None:
        """Raise `GemelError` unless both hold what the plan needs.

        PARAMETER for a plan that needs values counted across a file.
        """
        for side, part in (("alice", self._a), ("bob", self._b)):
            check_fields(side, sum(of_set.rows for of_set in part.sets), part.sets[0], plan)
        if any(field.value_frequencies for field in plan.fields):
            what = "values cannot be counted across a file when each block has its own keys"
            raise parameter("fields.value_frequencies", what, remedy="remove it, or link in mode open")

    def pairs(self, context: RunContext, progress: StageProgress) -> ShardedPairs:
        samples = Samples((self._a.sample, self._b.sample), self.n_records, GROUPS)
        _take_input(context, *samples.rows)
        return ShardedPairs(self._a, self._b, samples, context, progress)

    def warnings(self) -> Iterator[ResultWarning]:
        """Records that may have no row under any rule: it is not known which rules' rows are one record."""
        for side, part in zip(self.sides, (self._a, self._b), strict=True):
            yield from without_key_warnings(side, part.n_records, max(part.rows_per_rule.values()))


def _take_input(context: RunContext, *sets: SignatureSet) -> None:
    """Reserve the memory of signature sets, which the caller holds; what several of them share is counted once."""
    arrays: list[NDArray[np.generic]] = []
    for part in sets:
        arrays += [array for field in part.fields.values() for array in (field.signatures, field.codes)]
        arrays += [*part.blocks.values(), *(variable.codes for variable in part.variables.values())]
    total = sum({id(array): array.nbytes for array in arrays}.values())
    context.budget.take(total, "the signatures of both files", "link smaller files")


@dataclass(frozen=True)
class HeldSet:
    """A set by itself; a reference to it is the set."""

    part: SignatureSet

    def read(self) -> SignatureSet:
        return self.part

    def digests(self) -> U64:
        return self.part.blocks[self.part.rule]

    def require(self) -> None:
        """It is here."""


class HeldSets:
    def __init__(self, sets: Sequence[SignatureSet], n_records: int) -> None:
        self._sets = tuple(sets)
        self.layout = layout_of(self._sets, n_records)

    def reference(self, number: int) -> HeldSet:
        return HeldSet(self._sets[number])


def contribution_of(sets: Sequence[SignatureSet], n_records: int) -> Contribution:
    return Contribution(HeldSets(sets, n_records))
