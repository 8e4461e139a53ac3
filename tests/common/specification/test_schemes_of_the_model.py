"""The scheme of the model in a specification: chosen, written out again, explained, and refused when unknown."""

from __future__ import annotations

import pytest

from gemel.carole.engine.run.specified import plan_of
from gemel.common.errors import GemelErrors
from gemel.common.specification import (
    Specification,
    dump_specification,
    encoding_digest,
    load_specification,
    specification_digest,
    specification_notes,
)
from tests.common.specification.example import EXAMPLE


def with_scheme(scheme: str):
    spec = load_specification(EXAMPLE)
    model = spec.model.model_copy(update={"scheme": scheme})
    return load_specification(dump_specification(spec.model_copy(update={"model": model})))


def test_multinomial_is_the_default_and_has_no_note():
    spec = load_specification(EXAMPLE)
    assert spec.model.scheme == "multinomial"
    assert not any("Scheme" in note for note in specification_notes(spec))
    assert plan_of(spec).scheme == "multinomial"
    assert [field.bounds for field in plan_of(spec).fields] == [field.bounds for field in spec.fields]


@pytest.mark.parametrize("scheme", ["exact", "lr_weighted", "log_lr_weighted"])
def test_a_scheme_is_kept_explained_and_needs_no_new_signatures(scheme):
    spec, default = with_scheme(scheme), load_specification(EXAMPLE)
    assert spec.model.scheme == scheme
    assert any(note.startswith(f"Scheme {scheme}") for note in specification_notes(spec))
    assert specification_digest(spec) != specification_digest(default)
    assert encoding_digest(spec) == encoding_digest(default)
    plan = plan_of(spec)
    assert plan.scheme == scheme
    if scheme == "exact":
        assert {len(field.bounds) for field in plan.fields} == {2}


def test_an_unknown_scheme_is_refused_with_the_choices():
    with pytest.raises(GemelErrors, match="multinomial, exact, lr_weighted or log_lr_weighted"):
        with_scheme("binary")


def test_frequencies_and_missing_as_a_level_need_no_new_signatures_and_reach_the_plan():
    default = load_specification(EXAMPLE)
    data = default.model_dump()
    data["fields"][0].update(value_frequencies=True, missing_as="level")
    spec = load_specification(dump_specification(Specification.model_validate(data)))
    assert spec.fields[0].value_frequencies
    assert encoding_digest(spec) == encoding_digest(default)
    assert [field.value_frequencies for field in plan_of(spec).fields][:2] == [True, False]
    assert plan_of(spec).present == (spec.fields[0].name,)
    data["model"]["scheme"] = "lr_weighted"
    with pytest.raises(GemelErrors, match="need weights that are ratios of probabilities"):
        Specification.model_validate(data)
