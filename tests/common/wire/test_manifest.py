"""Manifest and chunks of a contribution: read back, bounded before anything is stored."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode
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


FIELDS = (FieldLayout("surname", 128, 7), FieldLayout("born", 64, 10))
ONE_SET = SetLayout("", 10, FIELDS, ("born",))
CODED = SetLayout(CODES, 12, (), (), (VariableLayout("driving", 3),))
IN_BLOCKS = (replace(ONE_SET, rule="born"), replace(ONE_SET, rule=SAMPLES, blocks=()))
CUT = (FieldLayout("surname", 128, 0, "shared"), FieldLayout("born", 64, 0, "fixed"))
SHARED = (
    SetLayout("born", 10, CUT, ("born",), tags=("name",)),
    SetLayout("name", 9, (CUT[0], FieldLayout("born", 64, 0, "withheld")), ("name",), tags=("born",)),
    SetLayout(SAMPLES, 1000, (CUT[0],), tags=()),
    CODED,
)
SEEDS = (b"c" * 1407, b"d" * 1407, b"s" * 1407)
MANIFEST = Manifest("study", Side.BOB, 1, b"e" * 32, b"k" * 8, Layout((ONE_SET,)))
MANIFESTS = {
    "one set": MANIFEST,
    "values": replace(MANIFEST, layout=Layout((SetLayout("", 10, (replace(FIELDS[0], content="values"),), ()),))),
    "variables": replace(MANIFEST, layout=Layout((replace(ONE_SET, variables=CODED.variables),))),
    "blocks": replace(MANIFEST, layout=Layout(IN_BLOCKS, 12)),
    "codes": replace(MANIFEST, layout=Layout((*IN_BLOCKS, CODED), 12)),
    "shared": replace(MANIFEST, layout=Layout(SHARED, 12), sealed_seeds=SEEDS),
}


def sent(kind: str = "one set") -> contribution_pb2.Manifest:
    """A manifest as its bytes arrive."""
    return contribution_pb2.Manifest.FromString(manifest_to_wire(MANIFESTS[kind]).SerializeToString())


def read(message: contribution_pb2.Manifest, max_bytes: int = 1 << 20) -> Manifest:
    return manifest_from_wire(message, max_bytes, 1000)


@pytest.mark.parametrize("kind", MANIFESTS)
def test_manifests_arrive_and_are_of_one_version_whatever_their_sets_have(kind: str) -> None:
    message = sent(kind)
    assert message.version == 1
    assert read(message) == MANIFESTS[kind]
    for version in (0, 2):
        message.version = version
        with refusal(ErrorCode.PARAMETER, "must be of version 1"):
            read(message)


@pytest.mark.parametrize(
    ("kind", "change", "code"),
    [
        ("one set", lambda m: setattr(m, "side", 7), ErrorCode.PARAMETER),
        ("one set", lambda m: setattr(m, "encoding_digest", b"short"), ErrorCode.PARAMETER),
        ("one set", lambda m: setattr(m, "key_check_value", b"k" * 9), ErrorCode.PARAMETER),
        ("one set", lambda m: m.ClearField("sets"), ErrorCode.UPLOAD_LIMIT),
        ("one set", lambda m: setattr(m.sets[0], "rows", 2**63), ErrorCode.UPLOAD_LIMIT),
        ("one set", lambda m: setattr(m.sets[0], "rows", 1001), ErrorCode.UPLOAD_LIMIT),
        ("one set", lambda m: setattr(m.sets[0].fields[0], "bits", 100), ErrorCode.UPLOAD_LIMIT),
        ("one set", lambda m: setattr(m.sets[0].fields[0], "distinct", 11), ErrorCode.UPLOAD_LIMIT),
        ("one set", lambda m: setattr(m.sets[0].fields[0], "name", "born"), ErrorCode.UPLOAD_LIMIT),
        ("one set", lambda m: m.sets.add(rule="../../etc", rows=1), ErrorCode.UPLOAD_LIMIT),
        ("one set", lambda m: setattr(m.sets[0].fields[0], "content", 9), ErrorCode.PARAMETER),
        ("variables", lambda m: setattr(m.sets[0].variables[0], "categories", 2**31), ErrorCode.UPLOAD_LIMIT),
        ("shared", lambda m: m.sealed_seeds.pop(), ErrorCode.PARAMETER),
        ("shared", lambda m: m.sealed_seeds.append(b"x"), ErrorCode.PARAMETER),
        ("shared", lambda m: m.sealed_seeds.__setitem__(1, b""), ErrorCode.PARAMETER),
        ("shared", lambda m: m.sealed_seeds.__setitem__(2, bytes(4097)), ErrorCode.PARAMETER),
        ("shared", lambda m: m.sets[3].tag_rules.append("born"), ErrorCode.UPLOAD_LIMIT),
        ("shared", lambda m: m.sets[0].tag_rules.append("born"), ErrorCode.UPLOAD_LIMIT),
        ("shared", lambda m: m.sets[0].block_rules.append("name"), ErrorCode.UPLOAD_LIMIT),
        ("shared", lambda m: setattr(m.sets[0].fields[0], "content", 0), ErrorCode.UPLOAD_LIMIT),
        ("shared", lambda m: setattr(m.sets[0].fields[0], "distinct", 1), ErrorCode.UPLOAD_LIMIT),
        ("shared", lambda m: setattr(m.sets[2].fields[0], "content", 4), ErrorCode.UPLOAD_LIMIT),
        ("shared", lambda m: setattr(m.sets[0], "rows", 2000), ErrorCode.UPLOAD_LIMIT),
        ("shared", lambda m: setattr(m.sets[0].fields[0], "bits", 8192 * 64), ErrorCode.UPLOAD_LIMIT),
        ("shared", lambda m: setattr(m, "records", 0), ErrorCode.UPLOAD_LIMIT),
    ],
)
def test_manifests_out_of_form_are_refused(
    kind: str, change: Callable[[contribution_pb2.Manifest], object], code: ErrorCode
) -> None:
    message = sent(kind)
    change(message)
    with refusal(code):
        read(message)


def test_body_longer_than_allowed_is_refused() -> None:
    size = MANIFEST.layout.total_bytes
    with refusal(ErrorCode.UPLOAD_LIMIT, str(size)):
        read(sent(), size - 1)


def test_seeds_come_with_shares_alone() -> None:
    message = sent()
    message.sealed_seeds.extend(SEEDS)
    with refusal(ErrorCode.PARAMETER, "0 sealed seeds"):
        read(message)
