"""Duplicates inside one file: its pairs of records compared once each, and the persons that they make.

A file is linked with itself, the earlier record of a pair in the place of Alice's and the later one in that of Bob's.
A record is a copy of one earlier record at most (`persons`), which is the assignment one_to_many, and so m, u, p
and the dependence of fields are estimated as between two files, with the same protection against households; and a pair
that may be of kin as well as of one person is judged by the personal fields in the end (`without_kin`).

The n (n - 1) / 2 pairs of n records are as many as those of two files of (n - 1) / 2 and of n records, which is what
the model is given; the prior of the number of copies is then that of n records with (n - 1) / 2 candidates each. For
that n must be odd: a file of an even number of records gets an empty one, which agrees with nothing.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from gemel.carole.arrays import F64, I64
from gemel.carole.engine.decision.conclusion import conclude
from gemel.carole.engine.inputs.files import WholeFiles
from gemel.carole.engine.linkage.local import Run
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.resources import Resources
from gemel.carole.engine.run.result import Linkage, ScoredPairs
from gemel.carole.fellegi_sunter.entities import persons, without_kin
from gemel.common.progress import Progress
from gemel.common.signatures.signature_sets import MISSING, SignatureSet

NOT_OF_ONE_FILE = frozenset({"equal_records", "shared_partner", "links_exceed_smaller_file", "links_exceed_both_files"})
"""Warnings on what is looked for here."""


class OneFile(WholeFiles):
    """A file in the place of both."""

    within = True
    sides: tuple[str, ...] = ("The file",)

    def __init__(self, part: SignatureSet) -> None:
        odd = part if part.n_rows % 2 else _with_an_empty_record(part)
        super().__init__(odd, odd)
        self.n_records = (odd.n_rows - 1) // 2, odd.n_rows
        self.distinct_records = part, part


@dataclass(frozen=True)
class Deduplication:
    """A file's duplicates.

    `linkage`: of the file with itself: `row_a` is the earlier record of each pair, `link_probability` the probability
    that both are of one person, and the links are the kept pairs within persons; `person`: int64, shape (n_rows,): the
    first record of each record's person; the record itself where it has no earlier one.
    """

    linkage: Linkage
    person: I64


def deduplicate(part: SignatureSet, plan: LinkagePlan, resources: Resources, progress: Progress) -> Deduplication:
    """Find the records of a file that are of one person.

    `plan`: what is meant for two files is left alone: the assignment, the expected matches, the latent step and the
    estimates of quality. Raises as `link`.
    """
    plan = replace(
        plan, assignment="one_to_many", latent=None, expected_matches=None, check_field=None, replicates=0, decoys=0,
        draws=0,
    )  # fmt: skip
    run = Run(OneFile(part), plan, resources, progress)
    with ThreadPoolExecutor(resources.threads, thread_name_prefix="linkage") as pool:
        found, kept, fitted = run.compared(pool)
    linkage, _ = conclude(found, kept.row_a, kept.row_b, plan, progress, fitted)
    pairs = linkage.pairs.of(linkage.pairs.row_b < part.n_rows)  # the empty record comes last
    pairs = replace(pairs, link_probability=without_kin(pairs.link_probability, _personal(linkage, pairs, plan)))
    threshold = linkage.threshold if plan.false_link_rate is None else max(linkage.threshold, 0.5)
    person = persons(pairs.row_a, pairs.row_b, pairs.link_probability, part.n_rows, threshold)
    linkage = replace(
        linkage,
        pairs=pairs,
        links=np.flatnonzero(person[pairs.row_a] == person[pairs.row_b]).astype(np.int64),
        warnings=tuple(warning for warning in linkage.warnings if warning.code not in NOT_OF_ONE_FILE),
        one_file=part.n_rows,
    )
    return Deduplication(linkage, person)


def _personal(linkage: Linkage, pairs: ScoredPairs, plan: LinkagePlan) -> F64:
    """Weight of each pair's personal fields in bits; without any, nothing distinguishes kin."""
    fields = [q for q, field in enumerate(plan.fields) if field.personal]
    if not fields:
        return np.full(len(pairs.row_a), np.inf)
    level = linkage.patterns.gamma[pairs.pattern][:, fields]
    weight = linkage.scheme.weights[fields, np.maximum(level, 0)]
    return np.asarray(np.where(level >= 0, weight, 0.0).sum(axis=1))


def _with_an_empty_record(part: SignatureSet) -> SignatureSet:
    fields = {
        name: replace(field, codes=np.append(field.codes, np.array(MISSING, dtype=field.codes.dtype)))
        for name, field in part.fields.items()
    }
    # A key of its own: it is in no block, and is no record without a key that a warning should count.
    own_key = np.array([np.iinfo(np.uint64).max], dtype=np.uint64)
    blocks = {name: np.append(keys, own_key) for name, keys in part.blocks.items()}
    return replace(part, n_rows=part.n_rows + 1, fields=fields, blocks=blocks)
