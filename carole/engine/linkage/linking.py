"""The link of two whole files: of records, or of the persons that several records of a file are."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np

from gemel.carole.engine.decision.claims import with_claims
from gemel.carole.engine.decision.conclusion import conclude
from gemel.carole.engine.decision.decoys import decoys_of_files, records_and_decoys
from gemel.carole.engine.decision.estimated import scored_patterns
from gemel.carole.engine.inputs.files import WholeFiles, rarity
from gemel.carole.engine.latent.refit import NOTHING_KNOWN, KnownRecords
from gemel.carole.engine.linkage.local import Run
from gemel.carole.engine.pairs.selection import copies
from gemel.carole.engine.pairs.stream import ComparisonVectors
from gemel.carole.engine.run.contribution import joined, pair_numbers
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.resources import KEPT_BYTES, Resources
from gemel.carole.engine.run.result import Linkage, ScoredPairs, ScoredPatterns, match_probabilities
from gemel.carole.fellegi_sunter.entities import Entities, OwnPersons, Pairs, persons, same_entity
from gemel.carole.fellegi_sunter.model import PatternCounts
from gemel.common.arrays import I32, I64
from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.progress import Progress, StageProgress
from gemel.common.signatures.signature_sets import MISSING, SignatureSet

# Duplicates inside one file: its pairs of records compared once each, and the persons that they make.
#
# A file is linked with itself, the earlier record of a pair in the place of Alice's and the later one in that of
# Bob's. Kinds of pairs, m, u and p are estimated as between two files, but nothing excludes a pair of one person: a
# person may be in the file any number of times. What is one person is decided pair by pair, and persons from these.
#
# The n (n - 1) / 2 pairs of n records are as many as those of two files of (n - 1) / 2 and of n records, which is what
# the model is given. For that n must be odd: a file of an even number of records gets an empty one, which agrees with
# nothing.


NOT_OF_ONE_FILE = frozenset({"equal_records", "shared_partner", "links_exceed_smaller_file", "links_exceed_both_files"})
"""Warnings on what is looked for here."""


class OneFile(WholeFiles):
    within = True
    sides: tuple[str, ...] = ("The file",)

    def __init__(self, part: SignatureSet) -> None:
        odd = part if part.n_rows % 2 else _with_an_empty_record(part)
        super().__init__(odd, odd)
        self.n_records = (odd.n_rows - 1) // 2, odd.n_rows
        self.distinct_records = part, part


def deduplicate(part: SignatureSet, plan: LinkagePlan, resources: Resources, progress: Progress) -> tuple[Linkage, I64]:
    """Find the records of a file that are of one person.

    `plan`: what is meant for two files is left alone: the assignment, the expected matches, the latent step and the
    estimates of quality. Returns the linkage of the file with itself: `row_a` is the earlier record of each pair,
    `link_probability` the probability that both are of one person, and the links are the kept pairs within persons;
    and int64, shape (n_rows,): the first record of each record's person; the record itself where it has no earlier one.
    Raises as `link`.
    """
    plan = replace(plan, assignment="none", latent=None, expected_matches=None, check_field=None, decoys=0, draws=0)
    run = Run(OneFile(part), plan, resources, progress)
    with ThreadPoolExecutor(resources.threads, thread_name_prefix="linkage") as pool:
        found, kept, fitted = run.compared(pool)
    linkage, _ = conclude(found, kept.row_a, kept.row_b, plan, progress, fitted)
    pairs = linkage.pairs.of(linkage.pairs.row_b < part.n_rows)  # the empty record comes last
    threshold = max(linkage.threshold, 0.5) if plan.known_threshold is None else linkage.threshold
    person = persons(pairs.row_a, pairs.row_b, pairs.link_probability, part.n_rows, threshold)
    linkage = replace(
        linkage,
        pairs=pairs,
        links=np.flatnonzero(person[pairs.row_a] == person[pairs.row_b]).astype(np.int64),
        warnings=tuple(warning for warning in linkage.warnings if warning.code not in NOT_OF_ONE_FILE),
        one_file=part.n_rows,
    )
    return with_claims(linkage, plan.seed), person


def _with_an_empty_record(part: SignatureSet) -> SignatureSet:
    fields = {
        name: replace(field, codes=np.append(field.codes, np.int32(MISSING))) for name, field in part.fields.items()
    }
    # A key of its own: it is in no block, and is no record without a key that a warning should count.
    own_key = np.array([np.iinfo(np.uint64).max], dtype=np.uint64)
    blocks = {name: np.append(keys, own_key) for name, keys in part.blocks.items()}
    return replace(part, n_rows=part.n_rows + 1, fields=fields, blocks=blocks)


# Entities of two files: the persons within each, linked one to one, and every pair of an entity's records.
#
# The assignment `clusters`. Persons within a file are found as its custodian would (`deduplicate`), by the plan's
# fields, rules and model. A pair of records whose persons are linked is a link, also if the two share no block or
# resemble each other too little to have been kept: such pairs are compared when the persons are known, so that every
# link has its weight and its probability.


STAGES = ("tables", "levels", "count", "model", "keep", "decide")
"""Stages of a file's own run, each an equal part of the stage "persons"."""

DOUBTS = frozenset(
    {
        "estimation_not_converged",
        "m_below_belief",
        "dependence_not_converged",
        "second_solution",
        "expected_links_not_converged",
    }
)
"""Warnings on a file's own run that matter for its entities."""


def own_persons(
    part: SignatureSet, side: str, plan: LinkagePlan, resources: Resources, progress: StageProgress
) -> tuple[OwnPersons, tuple[ResultWarning, ...]]:
    if part.n_rows < 2:
        return OwnPersons.alone(part.n_rows), ()

    def of_stage(stage: str, fraction: float) -> None:
        progress((STAGES.index(stage) + fraction) / len(STAGES))

    # A requested rate of false links is one of links between persons: these are then the most probable ones.
    try:
        linkage, person = deduplicate(part, replace(plan, false_link_rate=None), resources, of_stage)
    except GemelError as error:
        if error.code is not ErrorCode.NOT_IDENTIFIED:
            raise
        what = f"the persons within {side}'s file cannot be found by these fields: {error.what}"
        remedy = "compare more fields, or set links.assignment to one_to_one"
        raise GemelError(error.code, what, where=error.where, got=error.got, remedy=remedy) from error
    pairs = linkage.pairs
    warnings = tuple(
        result_warning("persons_in_doubt", side=side, reason=warning.text.removesuffix("."))
        for warning in linkage.warnings
        if warning.code in DOUBTS
    )
    return OwnPersons.of(person, pairs.row_a, pairs.row_b, pairs.link_probability), warnings


def both_persons(
    a: SignatureSet, b: SignatureSet, plan: LinkagePlan, resources: Resources, progress: Progress
) -> tuple[tuple[OwnPersons, OwnPersons], tuple[ResultWarning, ...]]:
    """The persons of each file, and warnings where they are in doubt; `progress` is called with the stage "persons"."""
    progress("persons", 0.0)
    of_a, doubts_a = own_persons(a, "Alice", plan, resources, lambda done: progress("persons", done / 2))
    of_b, doubts_b = own_persons(b, "Bob", plan, resources, lambda done: progress("persons", 0.5 + done / 2))
    progress("persons", 1.0)
    return (of_a, of_b), (*doubts_a, *doubts_b)


def with_entities(
    linkage: Linkage,
    own: tuple[OwnPersons, OwnPersons],
    a: SignatureSet,
    b: SignatureSet,
    plan: LinkagePlan,
    resources: Resources,
) -> Linkage:
    """A linkage of persons as one of records: all pairs of an entity's records are links, each with its probability."""
    kept = linkage.pairs
    links = kept.row_a[linkage.links], kept.row_b[linkage.links]
    entities = Entities.of((own[0].first, own[1].first), links)
    n_links = int(np.dot(*entities.sizes))
    if KEPT_BYTES * n_links > resources.memory_bytes - linkage.peak_bytes:
        what = "the pairs of records of linked persons do not fit into the memory of a run"
        remedy = "compare fields that distinguish people, or raise it in Carole's configuration"
        raise GemelError(ErrorCode.MEMORY, what, where="limits.memory", got=f"{n_links:,} pairs", remedy=remedy)
    row_a, row_b = entities.pairs()
    new = ~np.isin(pair_numbers(row_a, row_b), pair_numbers(kept.row_a, kept.row_b))
    row_a, row_b = row_a[new], row_b[new]
    patterns, pattern = _compared(linkage.patterns, linkage, (row_a, row_b), a, b, plan)
    weight = patterns.weight[pattern]
    names = [field.name for field in plan.fields if field.value_frequencies]
    if names:
        weight = weight + rarity(a, b, names, row_a, row_b)
    by_itself = match_probabilities(weight, linkage.model.p)
    pairs = joined([kept, ScoredPairs(row_a, row_b, pattern, weight, by_itself, by_itself)])
    probability = same_entity(
        own, (kept.row_a, kept.row_b), kept.weight, kept.link_probability, (pairs.row_a, pairs.row_b)
    )
    order = np.lexsort((pairs.row_b, pairs.row_a, -pairs.weight))
    pairs = replace(pairs, link_probability=probability).of(order)
    linkage = replace(
        linkage,
        pairs=pairs,
        links=np.flatnonzero(entities.a[pairs.row_a] == entities.b[pairs.row_b]).astype(np.int64),
        patterns=patterns,
        entities=entities,
        copies=(None, None),
    )
    linkage = with_claims(linkage, plan.seed)
    if n_links <= linkage.plausible_links:
        return linkage
    exceeding = result_warning("links_exceed_both_files", links=n_links, records=max(linkage.records))
    return replace(linkage, warnings=(*linkage.warnings, exceeding))


def _compared(
    known: ScoredPatterns, linkage: Linkage, rows: Pairs, a: SignatureSet, b: SignatureSet, plan: LinkagePlan
) -> tuple[ScoredPatterns, I32]:
    """The comparison vector of each of some pairs, and all vectors: those known, and new ones that no candidate has."""
    gamma, of_pair = ComparisonVectors(a, b, plan).distinct(*rows)
    everything = np.concatenate([known.gamma, gamma])
    _, first, member = np.unique(everything, axis=0, return_index=True, return_inverse=True)
    at = first[member.ravel()[len(known.gamma) :]]
    new = at >= len(known.gamma)
    at[new] = len(known.gamma) + np.arange(int(new.sum()))
    no_mask, no_pairs = np.zeros(int(new.sum()), dtype=np.uint32), np.zeros(int(new.sum()), dtype=np.int64)
    added = scored_patterns(linkage.scheme, PatternCounts(gamma[new], no_mask, no_pairs))
    return joined([known, added]), at[of_pair].astype(np.int32)


def link(
    a: SignatureSet,
    b: SignatureSet,
    plan: LinkagePlan,
    resources: Resources,
    progress: Progress,
    known: KnownRecords = NOTHING_KNOWN,
) -> Linkage:
    """Link two signature sets of whole files, with their decoys where the plan has any.

    `progress` is called with the stage ("persons" under clusters, "tables", "levels", "count", "model", "keep",
    "decide", and "latent" where there is such a step) and the fraction of it done, on the calling thread; an exception
    from it ends the run. The linkage is the same for a plan whatever the number of threads; memory only changes the
    floor of the kept pairs.

    Raises
    ------
    GemelError
        EMPTY_SOURCE, ENCODING_MISMATCH or PARAMETER if the inputs cannot be linked under the plan, NOT_IDENTIFIED
        if the model's parameters cannot be estimated from them, MEMORY if the run would need more than it may use.

    Notes
    -----
    Time is that of comparing distinct values (or candidate pairs, where that is less) and of two passes over the
    pairs, at some 10 ns per pair and pass on a core; estimation depends on the distinct comparison vectors only.
    """
    if plan.assignment == "clusters":
        return _clustered(a, b, plan, resources, progress)
    whole = a, b
    a, b = (records_and_decoys(part, plan.decoys)[0] for part in whole)
    run = Run(WholeFiles(a, b), plan, resources, progress)
    with ThreadPoolExecutor(resources.threads, thread_name_prefix="linkage") as pool:
        found, kept, fitted = run.compared(pool)
        found = replace(found, copies=(copies(a, plan, fitted.model), copies(b, plan, fitted.model)))
        decoys = decoys_of_files(whole, plan, partial(run.above, pool)) if plan.decoys else None
        linkage, _ = conclude(found, kept.row_a, kept.row_b, plan, progress, fitted, decoys)
        return linkage if plan.latent is None else run.extended(linkage, found, known)


def _clustered(
    a: SignatureSet, b: SignatureSet, plan: LinkagePlan, resources: Resources, progress: Progress
) -> Linkage:
    """The persons of each file, then these linked one to one, then all pairs of their records."""
    started = time.perf_counter()
    run = Run(WholeFiles(a, b), plan, resources, progress)
    own, doubts = both_persons(a, b, plan, resources, progress)
    seconds = {"persons": time.perf_counter() - started}
    with ThreadPoolExecutor(resources.threads, thread_name_prefix="linkage") as pool:
        found, kept, fitted = run.compared(pool)
    found = replace(found, copies=(own[0].first, own[1].first))
    linkage, _ = conclude(found, kept.row_a, kept.row_b, plan, progress, fitted)
    linkage = replace(linkage, seconds={**seconds, **linkage.seconds}, warnings=(*linkage.warnings, *doubts))
    return with_entities(linkage, own, a, b, plan, resources)
