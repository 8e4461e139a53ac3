"""One run, from two uploads to a released result."""

from __future__ import annotations

import time
from collections.abc import Callable

from carole.engine import link
from carole.engine.plan import Bands, Canopies, FieldPlan, LinkagePlan, Resources, RulePlan, Similar
from carole.projects import Project
from carole.service.findings import findings
from carole.service.shares import shares
from carole.store import Store
from carole.store.runs import Lease
from common.encoding.contribution import SignatureSet
from common.errors import ErrorCode, TrystError
from common.parties import Side
from common.pki.members import Members
from common.specification import LEVELS, BlockingRule, FieldSpec, Specification

Progress = Callable[[str, float], None]


def plan_of(spec: Specification) -> LinkagePlan:
    """What the engine is to do, from the specification."""
    return LinkagePlan(
        fields=tuple(
            FieldPlan(
                field.name,
                field.bits,
                _bounds(field, spec),
                spec.comparator_of(field),
                field.value_frequencies,
                field.missing_as == "level",
            )
            for field in spec.fields
        ),
        rules=tuple(_rule(rule) for rule in spec.blocking),
        swaps=spec.swaps,
        scheme=spec.model.scheme,
        u=spec.model.u,
        dependence=spec.model.dependence,
        assignment=spec.links.assignment,
        threshold=spec.links.least_probability or 0.5,
        false_link_rate=spec.links.false_link_rate,
        seed=spec.model.seed,
        max_iterations=spec.model.max_iterations,
        tolerance=spec.model.tolerance,
        expected_matches=spec.model.expected_matches,
    )


def _bounds(field: FieldSpec, spec: Specification) -> tuple[float, ...]:
    # The exact scheme knows nothing between equal and unequal: no need to count what it does not look at.
    return LEVELS["exact"] if spec.model.scheme == "exact" else field.bounds


def _rule(rule: BlockingRule) -> RulePlan:
    formed: Bands | Canopies | Similar | None = None
    if rule.lsh is not None:
        formed = Bands(rule.lsh.field, rule.lsh.bands, rule.lsh.bits)
    elif rule.canopies is not None:
        formed = Canopies(rule.canopies.field, rule.canopies.tight, rule.canopies.loose)
    elif rule.similar is not None:
        formed = Similar(rule.similar.field, rule.similar.least)
    return RulePlan(rule.name, rule.fields, formed, rule.limit, rule.split)


def carry_out(
    store: Store, lease: Lease, spec: Specification, members: Members, resources: Resources, progress: Progress
) -> int:
    """Link a project's two contributions, seal the shares and release them; returns the number of links.

    Raises
    ------
    TrystError
        What the engine refuses; MEMORY if the two uploads alone are more than the run may use; WRONG_STATE if the run
        was taken from this worker.
    """
    project = store.projects.get(lease.project)
    _refuse_too_large(project, resources)
    started = time.perf_counter()
    progress("read", 0.0)
    alice = _contribution(store, lease.project, Side.ALICE)
    progress("read", 0.5)
    bob = _contribution(store, lease.project, Side.BOB)
    seconds = {"read": time.perf_counter() - started}
    plan = plan_of(spec)
    linkage = link(alice, bob, plan, resources, progress)
    progress("seal", 0.0)
    document = findings(linkage, plan, resources, seconds)
    sealed = shares(lease.project, lease.run, linkage, document, project.grants, members)
    store.runs.finish(lease, int(linkage.links.size), sealed)
    return int(linkage.links.size)


def _contribution(store: Store, name: str, side: Side) -> SignatureSet:
    # In open mode a contribution is one set; the manifest was refused otherwise.
    (only,) = store.uploads.read(name, side)
    return only


def _refuse_too_large(project: Project, resources: Resources) -> None:
    total = sum(upload.total_bytes for upload in project.uploads.values())
    if total > resources.memory_bytes:
        raise TrystError(
            ErrorCode.MEMORY,
            "the two contributions do not fit into the memory of a run",
            where="limits.memory",
            got=f"{total} bytes of signatures for {resources.memory_bytes}",
            remedy="raise it in Carole's configuration, or use fewer signature bits",
        )
