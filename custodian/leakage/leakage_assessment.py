"""A custodian's own file attacked before it leaves: what could Carole learn under this specification?

The records are encoded as they would be sent, under throw-away keys, and attacked with public values as good as an
attacker's could be: every value of the file, with a count drawn at random about the file's own, as another sample of
the same people would have it. A real attacker knows less.

Large files are measured in part. In open mode the commonest values of each field are attacked, and the others counted
as safe: a lower bound. In block-keyed mode whole blocks of every size are drawn, weighted by the rows that such blocks
hold, and some groups of the samples; some of the blocks are attacked once more by one who has the file's own records in
clear, or a share of them. So are the salts of a salted field, unless a blocking rule's keys join values across salts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from types import MappingProxyType

import numpy as np
from numpy.random import Generator
from threadpoolctl import threadpool_limits

from gemel.common.arrays import I64, Columns
from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.keys.noise import AssessmentKeys
from gemel.common.signatures.layout import GROUP_ROWS, GROUPS
from gemel.common.signatures.signature_sets import FieldSignatures
from gemel.common.specification import Specification
from gemel.custodian.drawn_records import DrawnRecords
from gemel.custodian.encoding.columns import file_order
from gemel.custodian.encoding.file_records import HeldRecords
from gemel.custodian.encoding.records import Encoding
from gemel.custodian.encoding.samples import grouped
from gemel.custodian.leakage.across import by_cooccurrence, unique_rows
from gemel.custodian.leakage.block_model import block_likelihood, count_likelihood
from gemel.custodian.leakage.block_view import BlockView, attack_by_size
from gemel.custodian.leakage.own_blocks import in_blocks
from gemel.custodian.leakage.own_whole import coded, dictionaries, field_by_field, finding, truth_of
from gemel.custodian.leakage.recovery import UNKNOWN
from gemel.custodian.leakage.similarity_graph import mean_field
from gemel.custodian.leakage.view import PublicValues
from gemel.custodian.leakage_report import EVERYBODY, PUBLIC, REGISTER, Finding, LeakageReport

# Samples of chance agreement as their attacker sees them: small groups of values, each under a key of its own.
#
# A group of a few dozen values shows how often each occurs in it and how similar any two are. `group_alignment` looks
# for the public values that explain both best, by a mean field that is cooled slowly and among many public values, and
# keeps of several attempts the one that explains most: of 100 given names it now and then reads nearly all, which the
# fast `block_likelihood` does not. Nothing joins values of two groups, so that each group is attacked by itself.

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
    groups: BlockView, public: PublicValues, chosen: I64, attempts: tuple[tuple[int, float, float], ...] = ATTEMPTS
) -> I64:
    """Likeliest public value of each signature of the chosen groups of a field's sample, each group by itself.

    int64, shape (n_values,), ``UNKNOWN`` outside them. A second or two for a group of 30 and 2,000 public values on one
    core.
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


# The gate on the samples of chance agreement: some groups of every field attacked as they are sent.

ATTACKED = 1280
"""Values of a field attacked quickly, in whole groups."""
PATIENTLY = 320
"""Values attacked slowly, among the `_COMMONEST` values."""
_COMMONEST = 400


def in_samples(
    columns: Columns, spec: Specification, keys: AssessmentKeys, rng: Generator, drawn: DrawnRecords | None = None
) -> Iterator[Finding]:
    """Findings in the samples of mode block_keyed, but of fields of fewer than `MIN_VALUES` values.

    Of a file that is too large there are the records that were `drawn`, and `columns` are theirs.
    """
    if drawn is not None:
        columns = {name: column[drawn.anyone] for name, column in columns.items()}
    n = max(len(column) for column in columns.values())
    if not n:
        return
    chosen = np.sort(rng.permutation(n)[: GROUPS * GROUP_ROWS])
    some = {name: column.gather(rng.permutation(chosen)) for name, column in columns.items()}
    seed, noise = keys.throw_away_seed("samples"), keys.throw_away_noise("samples")
    part = Encoding(spec, seed, 1, noise, shuffle=file_order).samples(HeldRecords(some))
    rows = grouped(len(chosen), lambda _: file_order(len(chosen))).ravel()
    slowly = partial(group_alignment, attempts=((_COMMONEST, 0.002, 1.1),))
    for field in spec.fields:
        public = dictionaries(columns, spec.model_copy(update={"fields": (field,)}), drawn, rng)[field.name]
        if public is None or len(public) < MIN_VALUES:
            continue
        truth = truth_of(part, field.name, some[field.name], rows, public)
        groups = groups_view(part.fields[field.name], GROUPS, field.randomised_response)
        for attack, n_values, pace in ((block_likelihood, ATTACKED, ""), (slowly, PATIENTLY, ", slowly")):
            how = f"groups of the samples{pace}"
            found, _ = attack_by_size(how, field.name, attack, groups, public, truth, rng, n_values)
            yield finding(found)


REPORTED = 0.05
"""Share of the people of a register from which the report warns that they are recognised."""
FIXED = AssessmentKeys.of_number(1)
"""What an assessment outside a project is drawn by, unless another number is asked for."""
_REGISTERS = {REGISTER: "a register with a share of these people", EVERYBODY: "a register of all these people"}


def assess(
    columns: Columns,
    spec: Specification,
    variables: Columns = MappingProxyType({}),
    keys: AssessmentKeys = FIXED,
    drawn: DrawnRecords | None = None,
) -> LeakageReport:
    """Measure what the signatures of a file give away.

    `columns`: cleaned values per field, null where missing; `variables`: places of the rows' categories, null where
    missing; `keys`: throw-away keys of signatures and noise, by which all else is drawn too: the same rows and keys
    give the same report; `drawn`: records of a file that is too large, in modes block_keyed and shared without padding;
    `columns` and `variables` are theirs.

    Some seconds per field in open mode, and per rule in block-keyed mode, whatever the file's size, on one core. In
    mode shared no party sees a signature: what the sizes of blocks give away is measured.
    """
    rng = keys.generator("assessment")
    n = max((len(column) for column in columns.values()), default=0) if drawn is None else drawn.n_records
    limit, refuses = spec.leakage.limit, spec.leakage.refuses(spec.mode)
    if spec.mode == "trusted":
        everything = tuple(Finding(field.name, "", "reading what is sent", 1.0, 0.0) for field in spec.fields)
        warnings: tuple[ResultWarning, ...] = (result_warning("values_sent"),)
        return LeakageReport(spec.mode, n, limit, refuses, everything, warnings=warnings)
    recognised: tuple[Finding, ...] = ()
    signed = spec.model_copy(update={"variables": ()})  # codes are no signatures
    codes = list(coded(spec, variables, keys, rng))
    reported = [finding(margins) for _, margins in codes]
    # Products of small matrices, of which blocks have many, wait for each other's threads longer than they compute.
    with threadpool_limits(1, user_api="blas"):
        if spec.mode == "shared":
            as_sent = signed.model_copy(update={"mode": "block_keyed"})  # the rows before they are cut into shares
            found = list(in_blocks(columns, as_sent, keys, rng, drawn, sizes_alone=True))
        elif spec.in_blocks:
            each_rule = [*in_blocks(columns, signed, keys, rng, drawn), *in_samples(columns, signed, keys, rng, drawn)]
            found = [each for each in each_rule if each.attacker == PUBLIC]
            recognised = tuple(each for each in each_rule if each.attacker != PUBLIC)
        else:
            read = list(field_by_field(columns, signed, keys, rng))
            found = [each for _, findings in read for each in findings]
            fields = [field for field, _ in read]
            found += [finding(each) for field in fields if (each := by_cooccurrence(field, fields, rng))]
            reported += [finding(each) for variable, _ in codes if (each := by_cooccurrence(variable, fields, rng))]
    limits = spec.leakage.partial_register, spec.leakage.full_register
    warnings = (*_unlimited(recognised, limits), *_left_out(spec), *_own_combinations(spec, variables))
    if drawn is not None:
        error = max((each.error for each in (*found, *recognised)), default=0.0)
        warnings += (result_warning("measured_in_part", drawn=drawn.n_drawn, records=n, error=error),)
    return LeakageReport(spec.mode, n, limit, refuses, tuple(found), tuple(reported), warnings, recognised, *limits)


def _unlimited(recognised: Sequence[Finding], limits: tuple[float | None, float | None]) -> Iterator[ResultWarning]:
    for attacker, limit in zip((REGISTER, EVERYBODY), limits, strict=True):
        theirs = [finding for finding in recognised if finding.attacker == attacker]
        worst = max(theirs, key=lambda finding: finding.recovered, default=None)
        if limit is None and worst is not None and worst.recovered > REPORTED:
            register, where = _REGISTERS[attacker], f"{worst.attack}, rule {worst.rule}"
            yield result_warning("register_recognises", register=register, share=worst.recovered, where=where)


def _own_combinations(spec: Specification, variables: Columns) -> Iterator[ResultWarning]:
    if not variables:
        return
    codes = np.stack([places.fill_null(-1).to_numpy() for places in variables.values()], axis=1).astype(np.int64)
    where = "beside no signature" if spec.in_blocks else "beside their signatures"
    yield result_warning("own_combinations", variables=len(variables), where=where, share=unique_rows(codes))


def _left_out(spec: Specification) -> Iterator[ResultWarning]:
    yield result_warning("known_attacks_only")
    yield result_warning("keys_read_everything")
    if spec.mode == "open":
        yield result_warning("mode_open_measured")
    if spec.mode == "shared":
        yield result_warning("sizes_measured")
    if spec.resolution.joined:
        yield result_warning("joins_not_measured")
    if any(field.salt is not None for field in spec.fields):
        yield result_warning("joins_across_salts")
