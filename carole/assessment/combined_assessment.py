"""The assessment of a combined output: every measure against its limit, as one document.

The document is versioned JSON. It names variables and numbers of codes, never a label (Carole has none) and never a
record; a data steward reads it. The same run gives the same document, byte for byte.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gemel.carole.assessment.attribution import attribution, by_variable
from gemel.carole.assessment.cell_risk import MODEL_CELLS
from gemel.carole.assessment.combined import Combined
from gemel.carole.assessment.differences import Differences, EarlierRelease, differences
from gemel.carole.assessment.identification import identification
from gemel.carole.assessment.inferred_values import false_links
from gemel.carole.assessment.invented_records import invented_records
from gemel.carole.assessment.joint_model import joint_model
from gemel.carole.assessment.ladders import Ladder, ladders_of
from gemel.carole.assessment.measures import Measure, accumulated, entry
from gemel.carole.assessment.membership import membership
from gemel.carole.assessment.options import SEARCHED, options
from gemel.carole.assessment.publication import BASE_CELLS, publication
from gemel.carole.assessment.released_counts import counted, pack
from gemel.carole.engine.linkage.near_copies import NearCopies
from gemel.carole.engine.run.resources import MemoryBudget, Resources
from gemel.common.documents.assessment_document import VERSION, AssessmentDocument
from gemel.common.documents.disclosure_measures import MEASURES
from gemel.common.documents.linkage_document import LinkageDocument
from gemel.common.documents.result_warning import ResultWarning, by_severity, result_warning
from gemel.common.errors import parameter
from gemel.common.progress import Progress, silent
from gemel.common.specification import Specification, specification_digest
from gemel.common.specification.model.assessment import AssessmentSpec
from gemel.common.specification.notes.modes import granted_columns
from gemel.risk.models.joint_distribution import JointDistribution

# The memory of an assessment in bytes, computed before it is allocated.
#
# Nearly all of it is arrays of a few numbers per record, pair and cell, whose sizes are known in advance; the
# constants were measured (`tests/carole/assessment/test_registry.py` compares both). Only the search for minimal sample
# uniques may find any number: it gets the remaining memory, and is limited to smaller sizes where that is not enough.

ROW_BYTES, ROW_BYTES_PER_VARIABLE = 128, 16  # a record of either file
PAIR_BYTES, PAIR_BYTES_PER_VARIABLE = 512, 32  # a pair that may be a link
MODEL_CELL_BYTES, MODEL_CELL_BYTES_PER_KEY = 64, 40  # a cell of the table of all keys, as far as models have them
MERGE_BYTES = 160  # a combination and a merge of two categories, in the search for the smallest recoding
# A link, where there is a joint model; the categories are those of all sensitive variables.
JOINT_BYTES, JOINT_BYTES_PER_VARIABLE, JOINT_BYTES_PER_CATEGORY = 512, 24, 72
TABLE_CELL_BYTES = 200  # a cell of the table from which the published tables are made


def needed(combined: Combined, policy: AssessmentSpec, *, modelled: bool = False) -> int:
    """Bytes that an assessment needs, without the search for minimal sample uniques."""
    variables = len(combined.variables)
    rows = len(combined.alice) + len(combined.bob)
    pairs = len(combined.pair_a)
    levels = {variable.name: len(variable.categories) + 1 for variable in combined.variables}
    of_keys = [levels[name] for name in combined.with_role("key")]
    keys = math.prod(of_keys)
    merges = min(keys, combined.n_records) * sum(n * (n - 1) // 2 for n in of_keys)
    searched = 0 if policy.limits.given.get("correct_matches") is None else min(merges, SEARCHED)
    published = {name for table in policy.tables for name in table.variables}
    cells = math.prod(levels[name] for name in published) if published else 0
    return (
        rows * (ROW_BYTES + ROW_BYTES_PER_VARIABLE * variables)
        + pairs * (PAIR_BYTES + PAIR_BYTES_PER_VARIABLE * variables)
        + min(keys, MODEL_CELLS) * (MODEL_CELL_BYTES + MODEL_CELL_BYTES_PER_KEY * len(of_keys))
        + searched * MERGE_BYTES
        + (needed_by_joint(combined) if modelled else 0)
        + min(cells, BASE_CELLS) * TABLE_CELL_BYTES
    )


def needed_by_joint(combined: Combined) -> int:
    sensitive = combined.with_role("sensitive")
    categories = sum(len(variable.categories) for variable in combined.variables if variable.name in sensitive)
    each = JOINT_BYTES + JOINT_BYTES_PER_VARIABLE * len(combined.variables) + JOINT_BYTES_PER_CATEGORY * categories
    return combined.n_records * each


def left_for_uniques(
    combined: Combined, policy: AssessmentSpec, resources: Resources, *, modelled: bool = False
) -> Resources:
    """What an assessment may use, less the combined output and what it needs in any case."""
    budget = MemoryBudget(resources.memory_bytes)
    taken = combined.n_bytes + needed(combined, policy, modelled=modelled)
    budget.take(taken, "the assessment of the combined output", "carry fewer variables")
    return Resources(budget.free, resources.threads)


DEFAULT_SEARCH = Resources(3 << 30, 1)
"""What an assessment may use."""


@dataclass(frozen=True)
class Assessment:
    """The result of an assessment: the document, which docs/assessment.md describes, and as it is sent; by measure the
    value that is compared with its limit, and the measures above it; the counts of the tables, to be kept if the
    result is released; and how this release differs from earlier ones."""

    document: dict[str, Any] = field(repr=False)
    report: bytes = field(repr=False)
    judged: Mapping[str, float]
    breaches: tuple[str, ...]
    counts: bytes = field(repr=False)
    differences: Differences

    @property
    def digest(self) -> bytes:
        """SHA-256 of the report."""
        return hashlib.sha256(self.report).digest()


@dataclass(frozen=True)
class AssessmentContext:
    """What an output is assessed with and beside: the same for the output and for what is made of it.

    Attributes
    ----------
    run
        The run's name, for the document.
    earlier
        Reports on the project's earlier releases, oldest first: this release is assessed together with them.
    resources
        Memory, that of the output included, and threads, which change nothing in the document.
    progress
        Called with the stage "assess" and the fraction of it done.
    linkage
        The run's decision, with the estimates of its quality.
    released
        Earlier releases of the same custodians in all their projects, newest first: the tables are compared with them.
    copies
        Near-copies within Alice's contribution and within Bob's; None: `near_copies` is not measured.
    former
        Other projects of the same custodians that were released within a year, and their links.
    """

    run: str
    earlier: Sequence[bytes] = ()
    resources: Resources = DEFAULT_SEARCH
    progress: Progress = silent
    linkage: LinkageDocument | None = None
    released: Iterable[EarlierRelease] = ()
    codes: str = ""
    copies: tuple[NearCopies, NearCopies] | None = None
    former: tuple[int, int] = (0, 0)


def assess(
    combined: Combined,
    spec: Specification,
    context: AssessmentContext,
    *,
    joint: JointDistribution | None = None,
    attacked: Combined | None = None,
    ladders: Sequence[Ladder] | None = None,
    advise: bool = True,
) -> Assessment:
    """Assess a combined output.

    Parameters
    ----------
    joint
        The run's joint distribution in codes, wherever the extended latent step was; None: it has none.
    attacked
        The output as finely as tables of earlier releases have it, where what is assessed is coarser: all tables are
        attacked at that detail. None: the output itself.
    ladders
        The coarsenings by which earlier releases may be coarser or finer than this one; None: the specification's.
    advise
        Whether the document has options that would lower the risk, for each of which measures are computed again.

    Raises
    ------
    GemelError
        PARAMETER if the specification requests no assessment; MEMORY if it needs more than it may use.

    Notes
    -----
    Random rounding is the only random draw; its seed is derived from the counts. Cost grows with records and
    distinct combinations of key values.
    """
    policy = spec.assessment
    if policy is None:
        raise parameter("assessment", "the specification requests no assessment")
    attacked = combined if attacked is None else attacked
    before = accumulated([json.loads(report) for report in context.earlier], [v.name for v in attacked.variables])
    left = left_for_uniques(combined, policy, context.resources, modelled=spec.latent is not None)
    context.progress("assess", 0.0)
    found = identification(combined, policy.fractions, left, context.linkage)
    context.progress("assess", 0.5)
    cases = () if found.believed is None else found.believed.cases()
    values = by_variable(combined, policy, cases)
    learnt = attribution(combined, policy, values)
    tables = publication(attacked, policy.tables, before.tables, policy.known_people)
    counts = counted(combined, policy.tables, context.codes)
    differ = differences(combined.variables, counts, context.released, ladders_of(spec) if ladders is None else ladders)
    members = membership(combined, spec.release, policy.doubt, context.linkage)
    context.progress("assess", 0.6)
    model = joint_model(combined, spec, joint, context.linkage)
    context.progress("assess", 0.7)
    invented = invented_records(context.copies, members.document)
    measured: dict[str, Measure] = {}
    for part in (found, learnt, tables, differ, members, model, invented):
        measured |= part.measures
    measured |= false_links(spec, context.linkage)
    limits = policy.judged_limits
    known = [name for name in MEASURES if name in measured]
    measures = {name: entry(name, measured[name], limits.get(name), before.largest.get(name)) for name in known}
    judged = {name: float(value["judged"]) for name, value in measures.items()}
    past = before.over([variable.name for variable in combined.variables])
    ways = []
    if advise:
        ways = options(combined, found.model, found.believed, policy, judged, values, members.document, past, model)
    context.progress("assess", 1.0)
    breaches = [name for name, value in measures.items() if value["breached"]]
    warnings = _warnings(combined, *context.former)
    for warned in (combined, found, tables, before, differ, invented):
        warnings += warned.warnings
    document: dict[str, Any] = {
        "version": VERSION,
        "project": spec.project,
        "run": context.run,
        "specification_digest": specification_digest(spec).hex(),
        "verdict": "breach" if breaches else "within",
        "on_breach": policy.on_breach,
        "breaches": [{"measure": name, "value": judged[name], "limit": measures[name]["limit"]} for name in breaches],
        "measures": measures,
        "identification": found.document,
        "attribution": {"variables": model.added_to(learnt.document)},
        **({"released_joint": model.released} if "joint_attribution" in model.by_variable else {}),
        "custodians": members.document,
        "contributions": invented.document,
        "tables": tables.document,
        "options": ways,
        "supposed": _supposed(combined, policy),
        "records": combined.n_records,
        "expected_records": float(combined.pair_probability.sum()),
        "expected_left_out": combined.left_out,
        "earlier_releases": before.releases,
        "differences": differ.document,
        "former_projects": {"projects": context.former[0], "links": context.former[1]},
        **granted_columns(spec),
        "warnings": by_severity(warnings),
    }
    document = AssessmentDocument.of(document, "assessment").plain()
    report = json.dumps(document, allow_nan=False, sort_keys=True).encode()
    return Assessment(document, report, judged, tuple(breaches), pack(counts), differ)


def _supposed(combined: Combined, policy: AssessmentSpec) -> Mapping[str, Any]:
    return {
        "fractions": policy.fractions.model_dump(),
        "known_people": policy.known_people,
        "min_values": policy.min_values,
        "doubt": policy.doubt,
        "missing": "a missing value is a category of its own",
        "variables": [
            {"name": v.name, "holder": v.holder, "role": v.role, "categories": len(v.categories)}
            for v in combined.variables
        ],
    }


def _warnings(combined: Combined, projects: int, links: int) -> list[ResultWarning]:
    warnings = [result_warning("former_projects", projects=projects, links=links)] if projects else []
    if not combined.n_records:
        return [*warnings, result_warning("no_linked_record")]
    if combined.n_records < 2:
        warnings.append(result_warning("one_linked_record"))
    for name, number in combined.disagreements.items():
        if number:
            warnings.append(result_warning("custodians_differ", records=number, variable=name))
    lacking = (combined.codes < 0).mean(axis=0)
    for variable, share in zip(combined.variables, lacking.tolist(), strict=True):
        if share == 1.0:
            warnings.append(result_warning("variable_without_values", variable=variable.name))
        elif share > 0.2 and variable.role == "key":
            warnings.append(result_warning("key_often_missing", variable=variable.name, share=share))
    return warnings
