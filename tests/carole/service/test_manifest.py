"""Manifests of mode block_keyed: a set for every rule, a sample, and codes where the specification has variables."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from gemel.carole.service.manifest import check_manifest
from gemel.carole.store.payloads.stored_sets import layout_from_text, layout_to_text, sealed_seeds_from_text
from gemel.common.audit.statements import FileStatement
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
from gemel.common.specification import load_specification
from gemel.common.specification.model.blocking import JointSpec
from gemel.common.wire.manifest import Manifest
from gemel.protos.linkage.v1 import custody_pb2
from tests.carole.deployment import DIGEST, SPECIFICATION, make_upload, people
from tests.carole.refusals import refusal
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


def checked(layout, spec, side=Side.ALICE, seeds=()):
    """Check the manifest of a contribution of this layout to a project of this specification."""
    project = SimpleNamespace(encoding_digest=b"e" * 32, epoch=1, reports={})
    check_manifest(Manifest("keyed", side, 1, b"e" * 32, b"k" * 8, layout, seeds), project, spec)


def check(*sets, side=Side.ALICE, text=TEXT):
    checked(Layout(sets, 9), load_specification(text), side)


def test_what_the_specification_allows_is_accepted():
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
def test_anything_else_is_refused(sets):
    with refusal(ErrorCode.ENCODING_MISMATCH):
        check(*sets)


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
def test_the_set_that_is_wrong_is_named(sets, where):
    with pytest.raises(GemelError) as caught:
        check(*sets)
    assert caught.value.where == where


def test_decoys_are_rows_beside_the_records():
    text = TEXT.replace("prefix: 3}]}", "prefix: 3}]}\nquality: {decoys: 100}")
    check(replace(RULE, rows=109), SAMPLE, CODED, text=text)
    with pytest.raises(GemelError, match="at most 109 rows under a rule"):
        check(replace(RULE, rows=110), SAMPLE, CODED, text=text)


def test_in_mode_open_decoys_alone_are_refused():
    text = TEXT.replace("block_keyed", "open").replace("retention", "quality: {decoys: 100}\nretention")
    assert load_specification(text).mode == "open"
    only, beside = (Layout((SetLayout("", n, (FIELD,), ("start",), (REGION, AGE)),)) for n in (100, 101))
    checked(beside, load_specification(text))
    with refusal(ErrorCode.ENCODING_MISMATCH, "beside its 100 decoys"):
        checked(only, load_specification(text))


def test_more_rows_than_records_are_accepted_as_far_as_padding_causes_them():
    with refusal(ErrorCode.ENCODING_MISMATCH, "at most 9 rows under a rule"):
        check(replace(RULE, rows=10), SAMPLE, CODED)
    text = f"{TEXT}padding: powers_of_two\n"
    check(replace(RULE, rows=18), SAMPLE, CODED, text=text)
    with pytest.raises(GemelError, match="at most 18 rows under a rule"):
        check(replace(RULE, rows=19), SAMPLE, CODED, text=text)


KNOWN_TEXT = (
    TEXT.replace("block_keyed", "open")
    .replace("retention", f'latent: {{training: {{by: alice, sha256: "{"0a" * 32}", records: 30}}}}\nretention')
    .replace("{name: age, holder: both", "{name: age, holder: bob")
)
OPEN_SET = SetLayout("", 9, (FIELD,), ("start",), (REGION,))
TRAINED = SetLayout(TRAINING, 30, (), (), (REGION, AGE))


@pytest.mark.parametrize("mode", ["open", "block_keyed"])
def test_known_records_come_from_the_custodian_that_is_named_and_are_as_many_as_approved(mode):
    """In mode block_keyed behind the codes; that mode's own checks of a latent step are not the matter here."""
    spec = load_specification(KNOWN_TEXT).model_copy(update={"mode": mode})
    joint = JointSpec(by="bob", sha256="0b" * 32, cells=4)
    both = spec.model_copy(update={"latent": spec.latent.model_copy(update={"joint": joint})})

    def given(*known, side=Side.ALICE, of=spec):
        own = REGION if side is Side.ALICE else AGE
        file = (replace(OPEN_SET, variables=(own,)),)
        if mode != "open":
            file = RULE, SAMPLE, replace(CODED, variables=(own,))
        layout = Layout((*file, *known), 0 if mode == "open" else 9)
        layout.validate()
        checked(layout, of, side)

    given(TRAINED)
    given(side=Side.BOB)
    given(replace(TRAINED, rule=JOINT, rows=4), side=Side.BOB, of=both)
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
        with refusal(ErrorCode.ENCODING_MISMATCH):
            given(*wrong, side=side, of=of)
    with pytest.raises(GemelError) as caught:
        given(replace(TRAINED, rows=29))
    assert caught.value.where == f"manifest.sets[{1 if mode == 'open' else 3}]"


# Manifests of mode shared: of each set the shares that the specification asks for, and of no field anything else.

SHARED_TEXT = (
    heading("shares", "shared")
    + """
fields:
  - {name: surname, kind: name, bits: 128}
  - {name: born, kind: date, date: {order: ymd}, bits: 64}
  - {name: town, kind: name, bits: 64}
blocking:
  - {name: start, keys: [{field: surname, prefix: 3}], withheld: [town]}
  - {name: born, keys: [{field: born}]}
variables:
  - {name: region, holder: alice, categories: [n, s, w], role: key}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
)
SURNAME, BORN = FieldLayout("surname", 128, 0, "shared"), FieldLayout("born", 64, 0, "shared")
TOWN = FieldLayout("town", 64, 0, "shared")
START = SetLayout("start", 8, (SURNAME, BORN, replace(TOWN, content="withheld")), ("start",), tags=("born",))
OF_BORN = SetLayout("born", 9, (SURNAME, replace(BORN, content="fixed"), TOWN), ("born",), tags=("start",))
SHARED_SAMPLE = SetLayout(SAMPLES, sample_rows(9), (SURNAME, BORN, TOWN), tags=())
SHARED_CODED = SetLayout(CODES, 9, (), (), (VariableLayout("region", 3),))
SEEDS = (b"c", b"d", b"s")


def check_shared(*sets, text=SHARED_TEXT):
    checked(Layout(sets, 9), load_specification(text), seeds=SEEDS)


def test_what_the_specification_asks_for_is_accepted():
    check_shared(START, OF_BORN, SHARED_SAMPLE, SHARED_CODED)


@pytest.mark.parametrize(
    "sets",
    [
        (START, OF_BORN, SHARED_SAMPLE),
        (OF_BORN, START, SHARED_SAMPLE, SHARED_CODED),
        (START, SHARED_SAMPLE, SHARED_CODED),
        (replace(START, tags=()), OF_BORN, SHARED_SAMPLE, SHARED_CODED),
        (replace(START, tags=("other",)), OF_BORN, SHARED_SAMPLE, SHARED_CODED),
        (replace(START, blocks=("born",)), OF_BORN, SHARED_SAMPLE, SHARED_CODED),
        (replace(START, fields=(SURNAME, BORN, TOWN)), OF_BORN, SHARED_SAMPLE, SHARED_CODED),
        (START, replace(OF_BORN, fields=(SURNAME, BORN, TOWN)), SHARED_SAMPLE, SHARED_CODED),
        (
            START,
            replace(OF_BORN, fields=(SURNAME, replace(BORN, content="withheld"), TOWN)),
            SHARED_SAMPLE,
            SHARED_CODED,
        ),
        (START, replace(OF_BORN, fields=(replace(SURNAME, bits=64), *OF_BORN.fields[1:])), SHARED_SAMPLE, SHARED_CODED),
        (START, replace(OF_BORN, fields=OF_BORN.fields[:2]), SHARED_SAMPLE, SHARED_CODED),
        (START, OF_BORN, replace(SHARED_SAMPLE, rows=9), SHARED_CODED),
        (START, OF_BORN, replace(SHARED_SAMPLE, fields=(SURNAME, replace(BORN, bits=128), TOWN)), SHARED_CODED),
    ],
)
def test_another_contribution_is_refused(sets):
    with refusal(ErrorCode.ENCODING_MISMATCH):
        check_shared(*sets)


def test_shares_are_sent_in_mode_shared_and_signatures_in_the_others():
    rules = ("start", "born")
    fields = (FieldLayout("surname", 128, 4), FieldLayout("born", 64, 3), FieldLayout("town", 64, 0))
    fixed = (fields[0], FieldLayout("born", 64, 0, "fixed"), fields[2])
    plain = [SetLayout("start", 8, fields, rules), SetLayout("born", 8, fixed, rules)]
    sample = SetLayout(SAMPLES, sample_rows(9), fields)
    block_keyed = SHARED_TEXT.replace("shared", "block_keyed", 1)
    assert block_keyed != SHARED_TEXT
    check_shared(*plain, sample, SHARED_CODED, text=block_keyed)
    with pytest.raises(GemelError, match="rows are shared in mode shared"):
        check_shared(*plain, sample, SHARED_CODED)
    with pytest.raises(GemelError, match="not shared in mode block_keyed"):
        check_shared(START, OF_BORN, SHARED_SAMPLE, SHARED_CODED, text=block_keyed)


def test_a_stored_layout_is_read_as_it_was_and_has_its_seeds():
    layout = Layout((START, OF_BORN, SHARED_SAMPLE, SHARED_CODED), 9)
    text = layout_to_text(layout, SEEDS)
    assert layout_from_text(text) == layout
    assert sealed_seeds_from_text(text) == SEEDS
    assert text != layout_to_text(layout, (b"c", b"d", b"t"))
    assert sealed_seeds_from_text(layout_to_text(Layout((SetLayout("", 9, (FieldLayout("surname", 64, 1),)),)))) == ()


# What custodians state of their files reaches the log, and a contribution of another size is refused.

STATED = FileStatement(300, "register of births")


def stated(custodian, file=STATED, signed=STATED):
    signature = signed.sign(custodian.identity, "trial", DIGEST)
    custodian.approve(file=custody_pb2.FileStatement(records=file.records, origin=file.origin, signature=signature))


def agreed(carole):
    """The trial project, created and approved by the coordinator."""
    coordinator = carole.coordinator()
    coordinator.create(SPECIFICATION)
    coordinator.approve("trial", DIGEST)
    return carole.custodian(Side.ALICE), carole.custodian(Side.BOB)


def test_a_file_that_grew_by_invented_records_is_refused(deployment):
    alice, bob = agreed(deployment)
    stated(alice)
    bob.approve()
    for custodian in (alice, bob):
        custodian.report_keys()
    _, approved, _ = (e for e in deployment.store.audit.entries("trial") if e.action == "approve")
    assert (approved.details["stated_records"], approved.details["stated_origin"]) == (300, "register of births")
    assert len(str(approved.details["file_signature"])) == 128
    with refusal(ErrorCode.UPLOAD_LIMIT, "the number of records that its custodian has stated"):
        alice.begin(make_upload(Side.ALICE, people(340), "a" * 32)[0])
    alice.contribute(make_upload(Side.ALICE, people(310), "b" * 32)[0])
    begun = [e.details for e in deployment.store.audit.entries("trial") if e.action == "begin-upload"]
    assert [(e["records"], e["stated_records"]) for e in begun] == [(310, 300)]


def test_a_statement_that_its_custodian_has_not_signed_is_no_approval(deployment):
    alice, _ = agreed(deployment)
    with refusal(ErrorCode.SIGNATURE):
        stated(alice, FileStatement(3_000, "register of births"))
    with refusal(ErrorCode.SIGNATURE):
        alice.approve(file=custody_pb2.FileStatement())
    with refusal(ErrorCode.PARAMETER):
        alice.approve(file=custody_pb2.FileStatement(records=1, origin="two\nlines", signature=b"s" * 64))
    assert sum(entry.action == "approve" for entry in deployment.store.audit.entries("trial")) == 1


def test_a_contribution_before_its_custodians_approval_is_refused(deployment):
    alice, _ = agreed(deployment)
    with refusal(ErrorCode.WRONG_STATE, "follows its custodian's approval"):
        alice.begin(make_upload(Side.ALICE, people(20), "a" * 32)[0])
