"""Manifests of mode block_keyed: a set for every rule, a sample, and codes where the specification has variables."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gemel.carole.projects import Project
from gemel.carole.service.manifest import check_manifest
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.signatures.layout import (
    CODES,
    JOINT,
    SAMPLES,
    TRAINING,
    FieldLayout,
    Layout,
    SetLayout,
    VariableLayout,
    sample_rows,
)
from gemel.common.specification import Specification, load_specification
from gemel.common.specification.model.blocking import JointSpec
from gemel.common.wire.manifest import Manifest
from tests.specifications import heading

TEXT = (
    heading("keyed", "block_keyed")
    + """
fields:
  - {name: surname, kind: name, bits: 128}
blocking:
  - {name: start, keys: [{field: surname, prefix: 3}]}
variables:
  - {name: region, holder: alice, categories: [n, s, w], role: key}
  - {name: age, holder: both, categories: [young, old], role: key}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
)
FIELD = FieldLayout("surname", 128, 4)
RULE, SAMPLE = SetLayout("start", 8, (FIELD,), ("start",)), SetLayout(SAMPLES, sample_rows(9), (FIELD,))
REGION, AGE = VariableLayout("region", 3), VariableLayout("age", 2)
CODED = SetLayout(CODES, 9, (), (), (REGION, AGE))


def check(*sets: SetLayout, side: Side = Side.ALICE, text: str = TEXT) -> None:
    project = SimpleNamespace(encoding_digest=b"e" * 32, epoch=1, reports={})
    manifest = Manifest("keyed", side, 1, b"e" * 32, b"k" * 8, Layout(sets, 9))
    check_manifest(manifest, cast(Project, cast(Any, project)), load_specification(text))


def test_what_the_specification_allows_is_accepted() -> None:
    check(RULE, SAMPLE, CODED)
    check(RULE, SAMPLE, replace(CODED, variables=(AGE,)), side=Side.BOB)
    alices = TEXT.replace("holder: both", "holder: alice")
    check(RULE, SAMPLE, replace(CODED, variables=()), side=Side.BOB, text=alices)
    check(RULE, SAMPLE, text=TEXT[: TEXT.index("variables")] + TEXT[TEXT.index("retention") :])


@pytest.mark.parametrize(
    "sets",
    [
        (RULE, SAMPLE),
        (RULE, CODED, SAMPLE),
        (RULE, replace(SAMPLE, rows=sample_rows(9) - 1), CODED),
        (RULE, replace(SAMPLE, rows=9), CODED),
        (RULE, SAMPLE, replace(SAMPLE, rule=""), CODED),
        (RULE, replace(SAMPLE, rule=""), CODED),
        (RULE, SAMPLE, replace(CODED, variables=(AGE, REGION))),
        (RULE, SAMPLE, replace(CODED, variables=(REGION,))),
        (RULE, SAMPLE, replace(CODED, variables=(REGION, replace(AGE, categories=3)))),
        (replace(RULE, variables=(REGION, AGE)), SAMPLE, CODED),
        (RULE, SAMPLE, CODED, replace(RULE, rule="other")),
    ],
)
def test_anything_else_is_refused(sets: tuple[SetLayout, ...]) -> None:
    with pytest.raises(GemelError) as caught:
        check(*sets)
    assert caught.value.code is ErrorCode.ENCODING_MISMATCH


@pytest.mark.parametrize(
    ("sets", "where"),
    [
        ((replace(RULE, fields=()), SAMPLE, CODED), "manifest.sets[0].fields"),
        ((replace(RULE, blocks=()), SAMPLE, CODED), "manifest.sets[0].block_rules"),
        ((RULE, replace(SAMPLE, rows=9), CODED), "manifest.sets[1]"),
        ((RULE, replace(SAMPLE, blocks=("start",)), CODED), "manifest.sets[1].block_rules"),
        ((RULE, replace(SAMPLE, fields=(replace(FIELD, bits=64),)), CODED), "manifest.sets[1].fields.surname"),
        ((RULE, replace(SAMPLE, fields=(replace(FIELD, content="values"),)), CODED), "manifest.sets[1].fields.surname"),
        ((RULE, replace(SAMPLE, variables=(AGE,)), CODED), "manifest.sets[1].variables"),
        ((RULE, SAMPLE, replace(CODED, variables=(REGION,))), "manifest.sets[2].variables"),
        (
            (RULE, SAMPLE, replace(CODED, variables=(REGION, replace(AGE, categories=3)))),
            "manifest.sets[2].variables.age",
        ),
    ],
)
def test_the_set_that_is_wrong_is_named(sets: tuple[SetLayout, ...], where: str) -> None:
    with pytest.raises(GemelError) as caught:
        check(*sets)
    assert caught.value.where == where


def test_decoys_are_rows_beside_the_records() -> None:
    text = TEXT.replace("prefix: 3}]}", "prefix: 3}]}\nquality: {decoys: 100}")
    check(replace(RULE, rows=109), SAMPLE, CODED, text=text)
    with pytest.raises(GemelError, match="at most 109 rows under a rule"):
        check(replace(RULE, rows=110), SAMPLE, CODED, text=text)


def test_in_mode_open_decoys_alone_are_refused() -> None:
    text = TEXT.replace("block_keyed", "open").replace("retention", "quality: {decoys: 100}\nretention")
    assert load_specification(text).mode == "open"
    for rows, held in ((100, False), (101, True)):
        project = SimpleNamespace(encoding_digest=b"e" * 32, epoch=1, reports={})
        part = SetLayout("", rows, (FIELD,), ("start",), (REGION, AGE))
        manifest = Manifest("keyed", Side.ALICE, 1, b"e" * 32, b"k" * 8, Layout((part,)))
        if held:
            check_manifest(manifest, cast(Project, cast(Any, project)), load_specification(text))
            continue
        with pytest.raises(GemelError, match="beside its 100 decoys") as caught:
            check_manifest(manifest, cast(Project, cast(Any, project)), load_specification(text))
        assert caught.value.code is ErrorCode.ENCODING_MISMATCH


def test_more_rows_than_records_are_accepted_as_far_as_padding_causes_them() -> None:
    def rows(n: int) -> SetLayout:
        return replace(RULE, rows=n)

    with pytest.raises(GemelError, match="at most 9 rows under a rule") as caught:
        check(rows(10), SAMPLE, CODED)
    assert caught.value.code is ErrorCode.ENCODING_MISMATCH
    text = f"{TEXT}padding: powers_of_two\n"
    check(rows(18), SAMPLE, CODED, text=text)
    with pytest.raises(GemelError, match="at most 18 rows under a rule"):
        check(rows(19), SAMPLE, CODED, text=text)


KNOWN_TEXT = (
    TEXT.replace("block_keyed", "open")
    .replace("retention", f'latent: {{training: {{by: alice, sha256: "{"0a" * 32}", records: 30}}}}\nretention')
    .replace("{name: age, holder: both", "{name: age, holder: bob")
)
OPEN_SET = SetLayout("", 9, (FIELD,), ("start",), (REGION,))
TRAINED = SetLayout(TRAINING, 30, (), (), (REGION, AGE))


@pytest.mark.parametrize("mode", ["open", "block_keyed"])
def test_known_records_come_from_the_custodian_that_is_named_and_are_as_many_as_approved(mode: str) -> None:
    """In mode block_keyed behind the codes; that mode's own checks of a latent step are not the matter here."""
    spec = load_specification(KNOWN_TEXT).model_copy(update={"mode": mode})
    joint = JointSpec(by="bob", sha256="0b" * 32, cells=4)
    assert spec.latent is not None
    both = spec.model_copy(update={"latent": spec.latent.model_copy(update={"joint": joint})})

    def checked(*known: SetLayout, side: Side = Side.ALICE, of: Specification = spec) -> None:
        own = REGION if side is Side.ALICE else AGE
        file = (
            [replace(OPEN_SET, variables=(own,))]
            if mode == "open"
            else [RULE, SAMPLE, replace(CODED, variables=(own,))]
        )
        layout = Layout((*file, *known), 0 if mode == "open" else 9)
        layout.validate()
        project = SimpleNamespace(encoding_digest=b"e" * 32, epoch=1, reports={})
        manifest = Manifest("keyed", side, 1, b"e" * 32, b"k" * 8, layout)
        check_manifest(manifest, cast(Project, cast(Any, project)), of)

    checked(TRAINED)
    checked(side=Side.BOB)
    checked(replace(TRAINED, rule=JOINT, rows=4), side=Side.BOB, of=both)
    for wrong, side, of in (
        ((), Side.ALICE, spec),
        ((TRAINED,), Side.BOB, spec),
        ((replace(TRAINED, rows=29),), Side.ALICE, spec),
        ((replace(TRAINED, rows=31),), Side.ALICE, spec),
        ((replace(TRAINED, variables=(REGION,)),), Side.ALICE, spec),
        ((replace(TRAINED, variables=(AGE, REGION)),), Side.ALICE, spec),
        ((replace(TRAINED, variables=(REGION, replace(AGE, categories=3))),), Side.ALICE, spec),
        ((TRAINED, replace(TRAINED, rule=JOINT, rows=4)), Side.ALICE, both),
        ((replace(TRAINED, rule=JOINT, rows=5),), Side.BOB, both),
    ):
        with pytest.raises(GemelError) as caught:
            checked(*wrong, side=side, of=of)
        assert caught.value.code is ErrorCode.ENCODING_MISMATCH
    with pytest.raises(GemelError) as caught:
        checked(replace(TRAINED, rows=29))
    assert caught.value.where == f"manifest.sets[{1 if mode == 'open' else 3}]"
