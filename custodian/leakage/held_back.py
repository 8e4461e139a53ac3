"""Attacks on what a field holds back in mode open: its salt, and the similarity of values that are not listed.

Both grant the attacker what she can find out: which signatures share a salt, since only these resemble each other, and
which are of listed values, since only these resemble any. Large salts are attacked like files, small ones like blocks.

Rows that share something rare and unsalted, such as an address, are often relatives of one surname and several years of
birth: `salts_joined` takes their signatures for equal, and chains them to classes of equal values across salts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.random import Generator
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from gemel.common.arrays import F32, I64, Flags
from gemel.common.signatures.signature_sets import MISSING, NO_KEY, SignatureSet
from gemel.common.specification import FieldSpec, Specification
from gemel.custodian.leakage.block_model import block_likelihood
from gemel.custodian.leakage.block_view import BlockView, attack_by_size
from gemel.custodian.leakage.recovery import UNKNOWN, Recovery, score
from gemel.custodian.leakage.similarity_graph import SLACK, mean_field, similarity_graph_alignment
from gemel.custodian.leakage.view import FieldView, PublicValues, count_fit, value_counts

# Equality chaining: what happens when rows of one rule can be recognised as rows of another.
#
# Under block keys a value has another signature in every block. Where a row under one rule is known to be a row under
# another, its signatures there are of the same value; chained from block to block, they rebuild the classes of equal
# values of the whole file, with their counts, and with similarities wherever two classes meet in a block. So rows have
# a pseudonym of each rule's own.

CLASSES = 2000
"""Largest classes that are aligned by their similarities."""
_CORE = 250
_POOL = 6


@dataclass(frozen=True)
class Classes:
    """Signatures of one field known to be of equal values: by set the class of each signature (`of`); and `counts`,
    shape (n_classes,), the rows of each class under the rule that shows most of them.
    """

    of: list[I64]
    counts: I64


Joins = I64
"""Shape (n, 2): pairs of signatures of equal value, numbered through all sets."""


def offsets(sets: Sequence[SignatureSet], field: str) -> I64:
    """Number of the first signature of each set when those of all sets are numbered in order."""
    sizes = [part.fields[field].n_distinct for part in sets]
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def value_classes(sets: Sequence[SignatureSet], field: str, joins: Joins) -> Classes:
    """Classes of signatures that the joins chain together."""
    first = offsets(sets, field)
    n = int(first[-1])
    graph = coo_matrix((np.ones(len(joins), dtype=np.int8), (joins[:, 0], joins[:, 1])), shape=(n, n))
    n_classes, labels = connected_components(graph, directed=False)
    of = [labels[first[i] : first[i + 1]].astype(np.int64) for i in range(len(sets))]
    counts = np.zeros(n_classes, dtype=np.int64)
    for part, classes in zip(sets, of, strict=True):
        rows = np.bincount(classes, weights=value_counts(part.fields[field]), minlength=n_classes)
        counts = np.maximum(counts, rows.astype(np.int64))
    return Classes(of, counts)


def chained_alignment(
    sets: Sequence[SignatureSet], field: str, classes: Classes, public: PublicValues, n_records: int
) -> I64:
    """Public value of each class, from its count and from its similarities to the classes it meets in blocks.

    `n_records` tells how often a public value is expected; int64, shape (n_classes,), ``UNKNOWN`` outside the `CLASSES`
    largest; by the rank of its count where similarities leave it in doubt.
    """
    guesses = np.full(len(classes.counts), UNKNOWN, dtype=np.int64)
    largest = np.argsort(-classes.counts, kind="stable")[:CLASSES]
    if not len(largest):
        return guesses
    similar, times = _met(sets, field, classes, largest)
    bits = next(iter(sets)).fields[field].bits
    precision = np.where(times > 0, 1.0 / (1.0 / (bits * np.maximum(times, 1)) + SLACK), 0.0).astype(np.float32)
    expected = public.shares * n_records
    core = min(_CORE, len(largest))
    names = np.arange(min(len(public), _POOL * core))
    fit = count_fit(classes.counts[largest[:core]], expected[names]).astype(np.float32)
    plain = public.similarity(names, names)
    probability = mean_field(fit, similar[:core, :core], precision[:core, :core], plain)
    held = np.full(len(largest), UNKNOWN, dtype=np.int64)
    held[:core] = probability.argmax(axis=1)
    sure = np.zeros(len(largest), dtype=bool)
    sure[:core] = probability.max(axis=1) > 0.5
    wide = np.arange(min(len(public), 3 * len(largest)))
    for _ in range(3):
        anchors = np.flatnonzero(sure & (held >= 0))
        if not len(anchors):
            break
        plain = public.similarity(held[anchors], wide)
        plain[np.arange(len(anchors)), held[anchors]] = 0.0
        weight = precision[:, anchors].copy()
        weight[anchors, np.arange(len(anchors))] = 0.0
        total = (weight * similar[:, anchors]) @ plain - 0.5 * weight @ plain**2
        total += count_fit(classes.counts[largest], expected[wide]).astype(np.float32)
        ranked = np.partition(total, -2, axis=1)
        held, sure = total.argmax(axis=1), ranked[:, -1] - ranked[:, -2] > 3.0
    ranked_alike = np.arange(len(largest))
    guesses[largest] = np.where(sure, held, np.where(ranked_alike < len(public), ranked_alike, UNKNOWN))
    return guesses


def _met(sets: Sequence[SignatureSet], field: str, classes: Classes, chosen: I64) -> tuple[F32, F32]:
    """Mean similarity of every two chosen classes over the blocks where both are, and how many those are."""
    place = np.full(len(classes.counts), -1, dtype=np.int64)
    place[chosen] = np.arange(len(chosen))
    total = np.zeros((len(chosen), len(chosen)), dtype=np.float32)
    times = np.zeros_like(total)
    for part, of in zip(sets, classes.of, strict=True):
        held = part.fields[field]
        view = FieldView.of(held)
        block = np.zeros(held.n_distinct, dtype=np.uint64)
        here = held.codes >= 0
        block[held.codes[here]] = part.blocks[part.rule][here]
        some = np.flatnonzero(place[of] >= 0)
        some = some[np.argsort(block[some], kind="stable")]
        ends = np.flatnonzero(np.diff(block[some])) + 1
        for members in np.split(some, ends):
            if len(members) > 1:
                mine = place[of[members]]
                grid = np.ix_(mine, mine)
                total[grid] += view.similarity(members, members)
                times[grid] += 1
    return np.divide(total, times, out=np.zeros_like(total), where=times > 0), times


BLOCK_VALUES = 200
"""Values up to which a salt is attacked like a block."""
MAX_VALUES = 1500
"""Values of a salt attacked otherwise, and of a field in open mode, the commonest."""
SALTS = 4
"""Salts of every size attacked at least: of a large one an attack reads nearly all or nearly nothing."""
COMPANY = 6
"""Most rows that share something, to be taken for relatives."""
_TOO_LARGE = 3.0
_SALTS = "salts"


def salt_by_salt(salts: BlockView, public: PublicValues, chosen: I64) -> I64:
    """Public value of each signature of the chosen salts, each salt by itself; ``UNKNOWN`` elsewhere."""
    members = salts.members()
    small = np.array([len(members[salt]) <= BLOCK_VALUES for salt in chosen], dtype=bool)
    guesses = block_likelihood(salts, public, chosen[small])
    for salt in chosen[~small]:
        values = members[salt]
        alone = FieldView(salts.view.signatures[values], salts.view.counts[values], salts.view.randomised_response)
        guesses[values] = similarity_graph_alignment(alone, public, maximum=MAX_VALUES)
    return guesses


def listed_alone(view: FieldView, public: PublicValues, listed: Flags, maximum: int) -> I64:
    """Public value of each signature of a listed value, shape (n_values,); the others are left aside, ``UNKNOWN``."""
    guesses = np.full(view.n_values, UNKNOWN, dtype=np.int64)
    names, here = public.listed, np.flatnonzero(listed)
    if not len(names) or not len(here):
        return guesses
    values = [public.values[name] for name in names]
    known = PublicValues(values, public.shares[names], public.tokenisation)
    alone = FieldView(view.signatures[here], view.counts[here], view.randomised_response)
    found = similarity_graph_alignment(alone, known, maximum=maximum)
    # Both are in the order of their counts, so that a place among the listed is one of `names`.
    guesses[here] = np.where(found == UNKNOWN, UNKNOWN, names[found])
    return guesses


def salts_attacked(
    part: SignatureSet, field: FieldSpec, salt: pl.Series, public: PublicValues, truth: I64, rng: Generator, spread: int
) -> Iterator[Recovery]:
    """What is recovered of a salted field, each salt by itself and its salts joined.

    `salt` is each row's, null where it has none; `truth`, shape (n_values,), what each signature is.
    """
    _, its_salt = np.unique(salt.fill_null("").to_numpy().astype(str), return_inverse=True)
    salts = BlockView.of(part.fields[field.name], its_salt.astype(np.uint64), field.randomised_response)
    alone = "each salt by itself"
    yield attack_by_size(alone, field.name, salt_by_salt, salts, public, truth, rng, spread=spread, min_blocks=SALTS)[0]
    guesses = salts_joined(part, field.name, its_salt, public)
    yield score("its salts joined by what few rows share", field.name, guesses, truth, salts.view.counts, 0)


def without_undone_salts(spec: Specification) -> Specification | None:
    """The specification without the salts that blocking rules undo; None if there are none."""
    undone = {field.name for field in spec.fields if spec.rules_undoing_salt(field)}
    if not undone:
        return None
    fields = tuple(f.model_copy(update={"salt": None}) if f.name in undone else f for f in spec.fields)
    return spec.model_copy(update={"fields": fields})


def joins_across(part: SignatureSet, field: str, salt: I64) -> tuple[Joins, I64]:
    """Signatures of a field in different salts whose rows share another signature or a blocking key of `COMPANY` rows
    at most.

    Pairs of signatures, int64 of shape (n_pairs, 2), each once, ascending, and the pairs of rows that speak for each.
    """
    codes = part.fields[field].codes.astype(np.int64)
    together = [np.empty(0, dtype=np.int64)]
    for shared in _shared(part, field):
        rows = np.flatnonzero((shared != MISSING) & (codes != MISSING))
        size = np.bincount(shared[rows], minlength=1)
        rows = rows[size[shared[rows]] <= COMPANY]
        rows = rows[np.argsort(shared[rows], kind="stable")]
        for apart in range(1, COMPANY):
            first, second = rows[:-apart], rows[apart:]
            joined = (shared[first] == shared[second]) & (salt[first] != salt[second])
            together.append(first[joined] * part.n_rows + second[joined])
    found = np.unique(np.concatenate(together))
    both = np.sort(np.stack([codes[found // part.n_rows], codes[found % part.n_rows]], axis=1), axis=1)
    pairs, support = np.unique(both, axis=0, return_counts=True)
    return pairs, support


def salts_joined(part: SignatureSet, field: str, salt: I64, public: PublicValues) -> I64:
    """Public value of each signature of a salted field, classes of equal values chained across salts.

    A wrong join makes one class of two. Joins that few pairs of rows speak for are dropped until no class has far more
    rows than the commonest value can have, which Carole sees as well. `chained_alignment` reads the classes.
    """
    held = part.fields[field]
    rows = int((held.codes != MISSING).sum())
    alone = SignatureSet(_SALTS, part.n_rows, {field: held}, {_SALTS: salt.astype(np.uint64) + np.uint64(1)})
    pairs, support = joins_across(part, field, salt)
    classes = Classes([], np.empty(0, dtype=np.int64))
    for minimum in range(1, int(support.max(initial=1)) + 2):
        classes = value_classes((alone,), field, pairs[support >= minimum])
        if classes.counts.max(initial=0) <= max(COMPANY, _TOO_LARGE * public.shares[0] * rows):
            break
    return chained_alignment((alone,), field, classes, public, rows)[classes.of[0]]


def _shared(part: SignatureSet, field: str) -> Iterator[I64]:
    """What rows may have in common besides a field: a number from 0 for each, ``MISSING`` where there is none."""
    for name, other in part.fields.items():
        if name != field:
            yield other.codes.astype(np.int64)
    for keys in part.blocks.values():
        _, places = np.unique(keys, return_inverse=True)
        yield np.where(keys == NO_KEY, MISSING, places)
