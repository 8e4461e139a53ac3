"""Manifest and chunks of a contribution: read back, bounded before anything is stored."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.signatures.layout import CODES, SAMPLES, FieldLayout, Layout, SetLayout, VariableLayout
from gemel.common.wire.chunks import CHUNK_BYTES, chunk_count, chunk_size, chunk_slices, missing_ranges, root_digest
from gemel.common.wire.manifest import Manifest, manifest_from_wire, manifest_to_wire
from gemel.protos.linkage.v1 import contribution_pb2
from tests.carole.refusals import refusal


@given(st.integers(0, 40 * CHUNK_BYTES))
def test_slices_cover_the_body_once(total: int) -> None:
    slices = list(chunk_slices(total))
    assert len(slices) == chunk_count(total)
    assert [part.stop - part.start for part in slices] == [chunk_size(index, total) for index in range(len(slices))]
    assert sum(part.stop - part.start for part in slices) == total
    assert all(left.stop == right.start for left, right in pairwise(slices))


@given(st.integers(0, 60), st.data())
def test_gaps_are_exactly_what_is_not_present(count: int, data: st.DataObject) -> None:
    present = sorted(data.draw(st.sets(st.integers(0, count - 1)))) if count else []
    named = [index for first, last in missing_ranges(present, count) for index in range(first, last + 1)]
    assert named == sorted(set(range(count)) - set(present))


@given(st.integers(1, 60), st.integers(1, 5))
def test_a_bounded_list_names_the_first_gaps(count: int, maximum: int) -> None:
    present = list(range(0, count, 2))
    everything = missing_ranges(present, count)
    assert missing_ranges(present, count, maximum) == everything[:maximum]


def test_root_depends_on_the_order() -> None:
    first, second = hashlib.sha256(b"1").digest(), hashlib.sha256(b"2").digest()
    assert root_digest([first, second]) != root_digest([second, first])
    assert root_digest([first, second]) == hashlib.sha256(first + second).digest()


LAYOUT = Layout((SetLayout("", 10, (FieldLayout("surname", 128, 7), FieldLayout("born", 64, 10)), ("born",)),))
MANIFEST = Manifest("study", Side.BOB, 1, b"e" * 32, b"k" * 8, LAYOUT)
LIMITS = {"max_bytes": 1 << 20, "max_rows": 1000}


def sent(change: object = None) -> contribution_pb2.Manifest:
    """The manifest as bytes would arrive, after a change."""
    message = manifest_to_wire(MANIFEST)
    if callable(change):
        change(message)
    return contribution_pb2.Manifest.FromString(message.SerializeToString())


def test_round_trip() -> None:
    assert manifest_from_wire(sent(), **LIMITS) == MANIFEST


CODED = SetLayout(CODES, 12, (), (), (VariableLayout("driving", 3),))
IN_BLOCKS = (replace(LAYOUT.sets[0], rule="born"), replace(LAYOUT.sets[0], rule=SAMPLES, blocks=()))
LAYOUTS = {
    "variables": Layout((replace(LAYOUT.sets[0], variables=(VariableLayout("driving", 3),)),)),
    "blocks": Layout(IN_BLOCKS, 12),
    "codes": Layout((*IN_BLOCKS, CODED), 12),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_manifests_are_of_one_version_whatever_their_sets_have(layout: Layout) -> None:
    manifest = replace(MANIFEST, layout=layout)
    message = contribution_pb2.Manifest.FromString(manifest_to_wire(manifest).SerializeToString())
    assert message.version == 1
    assert manifest_from_wire(message, **LIMITS) == manifest
    for version in (0, 2):
        message.version = version
        with refusal(ErrorCode.PARAMETER, "must be of version 1"):
            manifest_from_wire(message, **LIMITS)


def test_too_many_categories_are_refused() -> None:
    message = manifest_to_wire(replace(MANIFEST, layout=LAYOUTS["variables"]))
    message.sets[0].variables[0].categories = 2**31
    with refusal(ErrorCode.UPLOAD_LIMIT):
        manifest_from_wire(message, **LIMITS)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda m: setattr(m, "version", 2), ErrorCode.PARAMETER),
        (lambda m: setattr(m, "side", 7), ErrorCode.PARAMETER),
        (lambda m: setattr(m, "encoding_digest", b"short"), ErrorCode.PARAMETER),
        (lambda m: setattr(m, "key_check_value", b"k" * 9), ErrorCode.PARAMETER),
        (lambda m: m.ClearField("sets"), ErrorCode.UPLOAD_LIMIT),
        (lambda m: setattr(m.sets[0], "rows", 2**63), ErrorCode.UPLOAD_LIMIT),
        (lambda m: setattr(m.sets[0], "rows", 1001), ErrorCode.UPLOAD_LIMIT),
        (lambda m: setattr(m.sets[0].fields[0], "bits", 100), ErrorCode.UPLOAD_LIMIT),
        (lambda m: setattr(m.sets[0].fields[0], "distinct", 11), ErrorCode.UPLOAD_LIMIT),
        (lambda m: setattr(m.sets[0].fields[0], "name", "born"), ErrorCode.UPLOAD_LIMIT),
        (lambda m: m.sets.add(rule="../../etc", rows=1), ErrorCode.UPLOAD_LIMIT),
        (lambda m: setattr(m.sets[0].fields[0], "content", 9), ErrorCode.PARAMETER),
    ],
)
def test_refusals(change: object, code: ErrorCode) -> None:
    with refusal(code):
        manifest_from_wire(sent(change), **LIMITS)


def test_body_longer_than_allowed_is_refused() -> None:
    with refusal(ErrorCode.UPLOAD_LIMIT) as caught:
        manifest_from_wire(sent(), max_bytes=LAYOUT.total_bytes - 1, max_rows=1000)
    assert str(LAYOUT.total_bytes) in str(caught.value)


def test_that_a_field_holds_values_survives() -> None:
    field = FieldLayout("surname", 128, 7, "values")
    trusted = Manifest("study", Side.BOB, 1, b"e" * 32, b"k" * 8, Layout((SetLayout("", 10, (field,), ()),)))
    message = contribution_pb2.Manifest.FromString(manifest_to_wire(trusted).SerializeToString())
    assert manifest_from_wire(message, **LIMITS) == trusted


SHARED_FIELDS = (FieldLayout("surname", 128, 0, "shared"), FieldLayout("born", 64, 0, "fixed"))
SHARED = replace(
    MANIFEST,
    layout=Layout(
        (
            SetLayout("born", 10, SHARED_FIELDS, ("born",), tags=("name",)),
            SetLayout("name", 9, (SHARED_FIELDS[0], FieldLayout("born", 64, 0, "withheld")), ("name",), tags=("born",)),
            SetLayout(SAMPLES, 1000, (SHARED_FIELDS[0],), tags=()),
            SetLayout(CODES, 12, (), (), (VariableLayout("driving", 3),)),
        ),
        12,
    ),
    sealed_seeds=(b"c" * 1407, b"d" * 1407, b"s" * 1407),
)


def test_a_manifest_of_shares_survives() -> None:
    message = contribution_pb2.Manifest.FromString(manifest_to_wire(SHARED).SerializeToString())
    assert manifest_from_wire(message, **LIMITS) == SHARED


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda m: m.sealed_seeds.pop(), ErrorCode.PARAMETER),
        (lambda m: m.sealed_seeds.append(b"x"), ErrorCode.PARAMETER),
        (lambda m: m.sealed_seeds.__setitem__(1, b""), ErrorCode.PARAMETER),
        (lambda m: m.sealed_seeds.__setitem__(2, bytes(4097)), ErrorCode.PARAMETER),
        (lambda m: m.sets[3].tag_rules.append("born"), ErrorCode.UPLOAD_LIMIT),
        (lambda m: m.sets[0].tag_rules.append("born"), ErrorCode.UPLOAD_LIMIT),
        (lambda m: m.sets[0].block_rules.append("name"), ErrorCode.UPLOAD_LIMIT),
        (lambda m: setattr(m.sets[0].fields[0], "content", 0), ErrorCode.UPLOAD_LIMIT),
        (lambda m: setattr(m.sets[0].fields[0], "distinct", 1), ErrorCode.UPLOAD_LIMIT),
        (lambda m: setattr(m.sets[2].fields[0], "content", 4), ErrorCode.UPLOAD_LIMIT),
        (lambda m: setattr(m.sets[0], "rows", 2000), ErrorCode.UPLOAD_LIMIT),
        (lambda m: setattr(m.sets[0].fields[0], "bits", 8192 * 64), ErrorCode.UPLOAD_LIMIT),
        (lambda m: setattr(m, "records", 0), ErrorCode.UPLOAD_LIMIT),
    ],
)
def test_shares_out_of_form_are_refused(change: Callable[[contribution_pb2.Manifest], object], code: ErrorCode) -> None:
    message = contribution_pb2.Manifest.FromString(manifest_to_wire(SHARED).SerializeToString())
    change(message)
    with refusal(code):
        manifest_from_wire(message, **LIMITS)


def test_seeds_come_with_shares_alone() -> None:
    message = manifest_to_wire(replace(MANIFEST, sealed_seeds=SHARED.sealed_seeds))
    with pytest.raises(GemelError, match="0 sealed seeds"):
        manifest_from_wire(message, **LIMITS)
