"""The gate on the samples of chance agreement: some groups of every field attacked as they are sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.drawn_records import DrawnRecords
from gemel.common.keys.assessment_keys import AssessmentKeys
from gemel.common.signatures.layout import GROUP_ROWS, GROUPS
from gemel.common.specification import Specification
from gemel.custodian.encoding.columns import file_order
from gemel.custodian.encoding.padding import RuleRows
from gemel.custodian.encoding.records import encode_rows
from gemel.custodian.encoding.samples import grouped
from gemel.custodian.leakage.block_model import block_likelihood
from gemel.custodian.leakage.block_view import BlockView, attack_by_size
from gemel.custodian.leakage.own_file import dictionaries, finding, truth_of
from gemel.custodian.leakage.public import PublicValues
from gemel.custodian.leakage.samples import MIN_VALUES, group_alignment, groups_view
from gemel.custodian.leakage_report import Finding

ATTACKED = 1280
"""Values of a field attacked quickly, in whole groups."""

PATIENTLY = 320
"""Values attacked slowly, among the `_COMMONEST` values."""

_COMMONEST = 400


def in_samples(
    columns: Mapping[str, pl.Series],
    spec: Specification,
    keys: AssessmentKeys,
    rng: np.random.Generator,
    drawn: DrawnRecords | None = None,
) -> Iterator[Finding]:
    """Findings in the samples of mode block_keyed.

    A field of fewer than `MIN_VALUES` values is left out. Of a file that is too large there are the records that were
    `drawn`, and `columns` are theirs.
    """
    if drawn is not None:
        columns = {name: column[drawn.anyone] for name, column in columns.items()}
    n = max(len(column) for column in columns.values())
    if not n:
        return
    chosen = np.sort(rng.permutation(n)[: GROUPS * GROUP_ROWS])
    some = {name: column.gather(rng.permutation(chosen)) for name, column in columns.items()}
    empty = RuleRows(some, {}, len(chosen))
    seed, noise = keys.throw_away_seed("samples"), keys.throw_away_noise("samples")
    sent = encode_rows(empty, spec, seed, 1, noise=noise, shuffle=file_order)
    (part,), rows = sent.sets, grouped(len(chosen), lambda _: file_order(len(chosen))).ravel()
    for field in spec.fields:
        public = dictionaries(columns, spec.model_copy(update={"fields": (field,)}), drawn, rng)[field.name]
        if public is None or len(public) < MIN_VALUES:
            continue
        truth = truth_of(part, field.name, some[field.name], rows, public)
        groups = groups_view(part.fields[field.name], GROUPS, field.randomised_response)
        for attack, n_values in ((block_likelihood, ATTACKED), (_slowly, PATIENTLY)):
            how = "groups of the samples" if attack is block_likelihood else "groups of the samples, slowly"
            found, _ = attack_by_size(how, field.name, attack, groups, public, truth, rng, n_values)
            yield finding(found)


def _slowly(groups: BlockView, public: PublicValues, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    return group_alignment(groups, public, chosen, ((_COMMONEST, 0.002, 1.1),))
