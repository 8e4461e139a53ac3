"""Manifests of mode shared: of each set the shares that the specification asks for, and of no field anything else."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gemel.carole.projects import Project
from gemel.carole.service.manifest import check_manifest
from gemel.carole.store.payloads.integrity import layout_from_text, layout_to_text, sealed_seeds_from_text
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.signatures.layout import CODES, SAMPLES, FieldLayout, Layout, SetLayout, VariableLayout, sample_rows
from gemel.common.specification import load_specification
from gemel.common.wire.manifest import Manifest
from tests.specifications import heading

TEXT = (
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
SAMPLE = SetLayout(SAMPLES, sample_rows(9), (SURNAME, BORN, TOWN), tags=())
CODED = SetLayout(CODES, 9, (), (), (VariableLayout("region", 3),))
SEEDS = (b"c", b"d", b"s")


def check(*sets: SetLayout, text: str = TEXT) -> None:
    project = SimpleNamespace(
        encoding_digest=b"e" * 32, epoch=1, reports={}, uploads={}, contributed=lambda side: False
    )
    manifest = Manifest("shares", Side.ALICE, 1, b"e" * 32, b"k" * 8, Layout(sets, 9), SEEDS)
    check_manifest(manifest, cast(Project, cast(Any, project)), load_specification(text))


def test_what_the_specification_asks_for_is_accepted() -> None:
    check(START, OF_BORN, SAMPLE, CODED)


@pytest.mark.parametrize(
    "sets",
    [
        (START, OF_BORN, SAMPLE),
        (OF_BORN, START, SAMPLE, CODED),
        (START, SAMPLE, CODED),
        (replace(START, tags=()), OF_BORN, SAMPLE, CODED),
        (replace(START, tags=("other",)), OF_BORN, SAMPLE, CODED),
        (replace(START, blocks=("born",)), OF_BORN, SAMPLE, CODED),
        (replace(START, fields=(SURNAME, BORN, TOWN)), OF_BORN, SAMPLE, CODED),
        (START, replace(OF_BORN, fields=(SURNAME, BORN, TOWN)), SAMPLE, CODED),
        (START, replace(OF_BORN, fields=(SURNAME, replace(BORN, content="withheld"), TOWN)), SAMPLE, CODED),
        (START, replace(OF_BORN, fields=(replace(SURNAME, bits=64), *OF_BORN.fields[1:])), SAMPLE, CODED),
        (START, replace(OF_BORN, fields=OF_BORN.fields[:2]), SAMPLE, CODED),
        (START, OF_BORN, replace(SAMPLE, rows=9), CODED),
        (START, OF_BORN, replace(SAMPLE, fields=(SURNAME, replace(BORN, bits=128), TOWN)), CODED),
    ],
)
def test_another_contribution_is_refused(sets: tuple[SetLayout, ...]) -> None:
    with pytest.raises(GemelError) as error:
        check(*sets)
    assert error.value.code is ErrorCode.ENCODING_MISMATCH


def test_shares_are_sent_in_mode_shared_and_signatures_in_the_others() -> None:
    rules = ("start", "born")
    fields = (FieldLayout("surname", 128, 4), FieldLayout("born", 64, 3), FieldLayout("town", 64, 0))
    fixed = (fields[0], FieldLayout("born", 64, 0, "fixed"), fields[2])
    plain = [SetLayout("start", 8, fields, rules), SetLayout("born", 8, fixed, rules)]
    sample = SetLayout(SAMPLES, sample_rows(9), fields)
    block_keyed = TEXT.replace("shared", "block_keyed", 1)
    assert block_keyed != TEXT
    check(*plain, sample, CODED, text=block_keyed)
    with pytest.raises(GemelError, match="rows are shared in mode shared"):
        check(*plain, sample, CODED)
    with pytest.raises(GemelError, match="not shared in mode block_keyed"):
        check(START, OF_BORN, SAMPLE, CODED, text=block_keyed)


def test_a_stored_layout_is_read_as_it_was_and_has_its_seeds() -> None:
    layout = Layout((START, OF_BORN, SAMPLE, CODED), 9)
    text = layout_to_text(layout, SEEDS)
    assert layout_from_text(text) == layout
    assert sealed_seeds_from_text(text) == SEEDS
    assert text != layout_to_text(layout, (b"c", b"d", b"t"))
    assert sealed_seeds_from_text(layout_to_text(Layout((SetLayout("", 9, (FieldLayout("surname", 64, 1),)),)))) == ()
