"""Sizes of a contribution out of bounds are refused before any data is read."""

from __future__ import annotations

import dataclasses

import pytest

from gemel.common.errors import ErrorCode
from gemel.common.signatures.layout import CODES, SAMPLES, FieldLayout, Layout, SetLayout, VariableLayout
from gemel.common.signatures.payload import from_bytes
from tests.carole.refusals import refusal

CODED = SetLayout(CODES, 5, (), (), (VariableLayout("region", 3), VariableLayout("age", 9)))
SIGNED = SetLayout("born", 4, (FieldLayout("surname", 64, 2),), ("born",))


@pytest.mark.parametrize(
    "layout",
    [
        Layout(()),
        Layout((SetLayout("", 3, ()),)),
        Layout((SetLayout("", 3, (FieldLayout("f", 100, 1),)),)),
        Layout((SetLayout("", 3, (FieldLayout("f", 0, 1),)),)),
        Layout((SetLayout("", 3, (FieldLayout("f", 8256, 1),)),)),
        Layout((SetLayout("", 3, (FieldLayout("f", 64, 4),)),)),
        Layout((SetLayout("", 3, (FieldLayout("f", 64, -1),)),)),
        Layout((SetLayout("", -1, (FieldLayout("f", 64, 0),)),)),
        Layout((SetLayout("", 2**31, (FieldLayout("f", 64, 1),)),)),
        Layout((SetLayout("", 3, (FieldLayout("", 64, 1),)),)),
        Layout((SetLayout("", 3, (FieldLayout("a b", 64, 1),)),)),
        Layout((SetLayout("", 3, (FieldLayout("f" * 65, 64, 1),)),)),
        Layout((SetLayout("", 3, (FieldLayout("f", 64, 1), FieldLayout("f", 64, 1))),)),
        Layout((SetLayout("", 3, (FieldLayout("f", 64, 1),), ("r", "r")),)),
        Layout((SetLayout("", 3, (FieldLayout("f", 64, 1),), ("../r",)),)),
        Layout((SetLayout("", 3, (FieldLayout("f", 64, 1),)),) * 2),
        Layout((SetLayout("a/b", 3, (FieldLayout("f", 64, 1),)),)),
    ],
)
def test_sizes_and_names_out_of_bounds_are_refused(layout: Layout) -> None:
    with refusal(ErrorCode.UPLOAD_LIMIT):
        from_bytes(layout, b"")


@pytest.mark.parametrize(
    "variables",
    [
        (VariableLayout("a", 1),),
        (VariableLayout("a", 1001),),
        (VariableLayout("a", 2), VariableLayout("a", 2)),
        (VariableLayout("a b", 2),),
        tuple(VariableLayout(f"v{i}", 2) for i in range(65)),
    ],
)
def test_layouts_of_variables_out_of_bounds_are_refused(variables: tuple[VariableLayout, ...]) -> None:
    with refusal(ErrorCode.UPLOAD_LIMIT):
        Layout((SetLayout("", 4, (FieldLayout("surname", 64, 1),), (), variables),)).validate()


@pytest.mark.parametrize(
    ("sets", "records", "what"),
    [
        ((SIGNED, dataclasses.replace(CODED, rows=4)), 5, "rows"),
        ((SIGNED, dataclasses.replace(CODED, rows=6)), 5, "rows"),
        ((SIGNED, CODED), 0, "rule"),
        ((dataclasses.replace(CODED, rows=0),), 0, "rule"),
        ((SIGNED, CODED, CODED), 5, "once"),
        ((SIGNED, dataclasses.replace(CODED, fields=SIGNED.fields)), 5, "fields"),
        ((SIGNED, dataclasses.replace(CODED, blocks=("born",))), 5, "blocking rules"),
        ((dataclasses.replace(SIGNED, variables=CODED.variables), CODED), 5, "variables"),
        ((dataclasses.replace(SIGNED, variables=CODED.variables),), 5, "variables"),
        ((SIGNED, dataclasses.replace(SIGNED, rule=SAMPLES, fields=(), variables=CODED.variables)), 5, "fields"),
    ],
)
def test_a_layout_that_would_put_codes_beside_anything_is_refused(
    sets: tuple[SetLayout, ...], records: int, what: str
) -> None:
    Layout((SIGNED, CODED), 5).validate()
    with refusal(ErrorCode.UPLOAD_LIMIT, what):
        Layout(sets, records).validate()
