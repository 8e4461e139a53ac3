"""The engine's plan, from the specification, and what the engine refuses of one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from gemel.carole.engine.run.plan import FieldPlan, LatentPlan, LinkagePlan, RulePlan, VariablePlan
from gemel.carole.fellegi_sunter.model_warnings import not_identified, why_not_identified
from gemel.carole.fellegi_sunter.settings import FieldLevels, MPrior
from gemel.common.specification import LEVELS, FieldSpec, Specification
from gemel.common.specification.model.assessment import PriorsSpec
from gemel.common.specification.model.column_words import part_of_date
from gemel.common.specification.model.schemes import SCHEMES


def plan_of(spec: Specification) -> LinkagePlan:
    """The engine's plan, from the specification."""
    return LinkagePlan(
        fields=tuple(_field(field, _bounds(field, spec), spec) for field in spec.compared),
        rules=tuple(
            RulePlan(rule.name, rule.fields, rule.lsh or rule.canopies or rule.similar, rule.limit, rule.split)
            for rule in spec.blocking
        ),
        swaps=spec.swaps,
        scheme=spec.model.scheme,
        u=spec.model.u,
        dependence=spec.model.dependence,
        assignment=spec.links.assignment,
        threshold=_threshold(spec),
        false_link_rate=spec.links.false_link_rate,
        seed=spec.model.seed,
        max_iterations=spec.model.max_iterations,
        tolerance=spec.model.tolerance,
        expected_matches=spec.model.expected_matches,
        m_prior=_beliefs(spec.model.m_prior),
        latent=_latent(spec),
        check_field=_check_field(spec),
        decoys=spec.decoys,
        draws=spec.release.drawn,
    )


def _threshold(spec: Specification) -> float | None:
    """The threshold, where it does not follow from the pairs; of weights that are no ratios F1 cannot be expected."""
    if spec.links.criterion == "f1" and not SCHEMES[spec.model.scheme].calibrated:
        return 0.5
    return spec.links.min_probability


def refuse_unidentified(spec: Specification) -> None:
    """Refuse a specification whose model no data can determine, before anything is read.

    Every comparison is taken to have all of its levels; a run may still find one constant, and then refuse.

    Raises NOT_IDENTIFIED, as `carole.fellegi_sunter.em.fit` would.
    """
    plan = plan_of(spec)
    fields = [FieldLevels(compared.name, len(compared.bounds)) for compared in plan.compared]
    reason = why_not_identified(fields, np.ones((len(fields), 2)), plan.u)
    if reason is not None:
        raise not_identified(reason)


def _field(field: FieldSpec, bounds: tuple[float, ...], spec: Specification) -> FieldPlan:
    comparator, missing_as_level = spec.comparator_of(field), field.missing_as == "level"
    rare, randomised_response = field.value_frequencies, field.randomised_response
    part = part_of_date(field.name)
    date = "" if part is None else part[1] or "birth"
    return FieldPlan(
        field.name, field.bits, bounds, comparator, rare, missing_as_level, randomised_response, field.describes, date
    )


def _check_field(spec: Specification) -> FieldPlan | None:
    if spec.quality is None or spec.quality.check_field is None:
        return None
    field = spec.field(spec.quality.check_field)
    return _field(field, _equal_or_not(field), spec)


def _latent(spec: Specification) -> LatentPlan | None:
    if spec.latent is None:
        return None
    return LatentPlan(
        variables=tuple(VariablePlan(v.name, v.holder, len(v.categories)) for v in spec.variables),
        keys=spec.latent.keys,
        search=spec.latent.search,
        p=spec.latent.p,
        separate=spec.latent.separate,
        rounds=spec.latent.rounds,
        precision=spec.latent.precision,
        **_priors(spec.latent.priors),
    )


def _priors(priors: PriorsSpec | None) -> dict[str, Any]:
    if priors is None:
        return {}
    return {
        "m_prior": _beliefs(priors.m),
        "u_prior": _beliefs(priors.u),
        "p_prior": (0.0, 0.0) if priors.p is None else (priors.p.matches, priors.p.non_matches),
    }


def _beliefs(fields: Iterable[Any]) -> tuple[tuple[str, MPrior], ...]:
    return tuple((belief.field, MPrior(belief.agreement, belief.weight)) for belief in fields)


def _bounds(field: FieldSpec, spec: Specification) -> tuple[float, ...]:
    # A scheme without grades has no level between equal and unequal, so none is counted.
    if SCHEMES[spec.model.scheme].graded:
        return field.bounds
    return _equal_or_not(field)


def _equal_or_not(field: FieldSpec) -> tuple[float, ...]:
    return field.tolerant_bounds(LEVELS["exact"]) if field.randomised_response else LEVELS["exact"]
