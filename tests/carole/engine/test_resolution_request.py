"""The request to a resolver: it survives packing; malformed ones, and ones of no comparison, are refused."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.modes import people
from gemel.carole.engine import Candidates, conclude
from gemel.carole.engine.resolution.resolution_exchange import checked_codes, checked_handles
from gemel.carole.engine.resolution.resolution_request import check_request, unpack_request
from gemel.common.errors import ErrorCode
from gemel.common.parties import Side
from gemel.custodian.encoding.columns import random_order
from tests.carole.engine.progress import quiet
from tests.carole.engine.runs import Keyed
from tests.carole.refusals import refusal

DIGESTS = bytes(range(32)), bytes(range(32, 64))


@pytest.fixture(scope="module")
def keyed() -> Keyed:
    return Keyed(*people(300, 0.3, 2))


def test_a_resolver_decides_as_carole_would_and_pairs_find_their_way_back(keyed: Keyed) -> None:
    direct, place = conclude(keyed.found, *keyed.records, keyed.plan, quiet)
    order = random_order(len(keyed.kept.pattern))
    request = keyed.request(order, DIGESTS, 3)
    assert (request.requested, request.threads) == (DIGESTS, 3)
    assert request.found.warnings == keyed.found.warnings
    assert request.found.missing == keyed.found.missing
    # Other handles for the same records change nothing.
    handles = [random_order(300).astype(np.int32)[record[order]] for record in keyed.records]
    resolved, back = conclude(request.found, *handles, keyed.plan, quiet)
    weights, links = [], []
    for linkage, places in ((direct, place), (resolved, order[back])):
        rows = list(zip(*(column[places].tolist() for column in keyed.rows), strict=True))
        weights.append(dict(zip(rows, linkage.pairs.weight.tolist(), strict=True)))
        links.append({rows[k] for k in linkage.links})
    assert links[0] == links[1]
    assert weights[0] == pytest.approx(weights[1])


def test_no_row_and_no_signature_is_in_the_request(keyed: Keyed) -> None:
    content = keyed.packed(random_order(len(keyed.kept.pattern)))
    for side in Side:
        for part in keyed.made[side].sets:
            for field in part.fields.values():
                assert not any(signature.tobytes() in content for signature in field.signatures[:20])
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert not any("row" in name or "block" in name for name in archive.namelist())


def array(values: np.ndarray, *, pickled: bool = False) -> bytes:
    part = io.BytesIO()
    np.lib.format.write_array(part, values, allow_pickle=pickled)
    return part.getvalue()


SPOILT = {
    "truncated": {},
    "compressed": {},
    "pattern": {"pattern.npy": array(np.array([10**6], dtype=np.int32))},
    "field": {"gamma.npy": array(np.zeros((3, 2), dtype=np.int8))},
    "object": {"mask.npy": array(np.array([{}], dtype=object), pickled=True)},
    "document": {"document.json": b"[]"},
}


@pytest.mark.parametrize("spoil", SPOILT)
def test_a_malformed_request_is_refused(keyed: Keyed, spoil: str) -> None:
    with zipfile.ZipFile(io.BytesIO(keyed.packed())) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()} | SPOILT[spoil]
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED if spoil == "compressed" else zipfile.ZIP_STORED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    bad = made.getvalue()
    with refusal(ErrorCode.UPLOAD_CORRUPT):
        unpack_request(bad[: len(bad) // 2] if spoil == "truncated" else bad, keyed.plan)


def other_patterns(**changed: Callable[[np.ndarray], np.ndarray]) -> Callable[[Candidates], Candidates]:
    """A request whose comparison vectors have some other columns."""

    def change(found: Candidates) -> Candidates:
        columns = {name: of(getattr(found.patterns, name)) for name, of in changed.items()}
        return replace(found, patterns=replace(found.patterns, **columns))

    return change


def another_vector(found: Candidates) -> Candidates:
    left_out = np.setdiff1d(np.arange(len(found.patterns.count)), found.selected)
    return replace(found, pattern=np.append(found.pattern, left_out[:1]).astype(np.int32))


def first_twice(column: np.ndarray) -> np.ndarray:
    return column[[0, *range(len(column) - 1)]]


LIES: dict[str, Callable[[Candidates], Candidates]] = {
    "other pairs than those of the chosen": lambda f: replace(f, pattern=np.append(f.pattern, f.pattern[:1])),
    "other pairs than those": lambda f: replace(f, pattern=f.pattern[1:]),
    "other pairs": another_vector,
    "pairs of no blocking rule": other_patterns(mask=lambda mask: mask * 0),
    "pairs of no blocking rule of the plan": other_patterns(mask=lambda mask: mask | np.uint32(1 << 20)),
    "a comparison vector of no pair": other_patterns(count=lambda count: count * 0),
    "a comparison vector twice": other_patterns(gamma=first_twice, mask=first_twice),
    "a comparison vector chosen twice": lambda f: replace(f, selected=np.append(f.selected, f.selected[:1])),
}


@pytest.mark.parametrize("why", LIES)
def test_a_request_that_cannot_be_of_a_comparison_is_refused(keyed: Keyed, why: str) -> None:
    check_request(keyed.found, keyed.plan)
    with refusal(ErrorCode.UPLOAD_CORRUPT, f"got {why}"):
        check_request(LIES[why](keyed.found), keyed.plan)


def of(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.uint32)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((of(0, 1, 1), 3, 2), ([0, 1, 1], 2, 0)),
        ((of(0, 1, 2), 3, 2, of(1)), ([0, 1, 2], 1, 0)),
        ((of(0, 1, 2), 3, 2, of(1), of(2), 5), ([0, 1, 2], 1, 2)),
        ((of(0, 1), 3, 2), None),
        ((of(0, 1, 1, 0), 3, 2), None),
        ((of(0, 1, 2), 3, 2), None),
        ((of(0, 1, 2), 3, 2, of()), None),
        ((of(0, 1, 2), 3, 2, of(3)), None),
        ((of(0, 1, 2), 3, 2, of(1, 1)), None),
        ((of(0, 1, 4), 3, 2, of(1)), None),
        ((of(0, 1, 2), 3, 2, of(1), of(2), 1), None),
        ((of(0, 1, 2), 3, 2, of(1), of(2, 2), 5), None),
        ((of(0, 1, 2), 3, 2, of(1), of(), 5), None),
    ],
    ids=str,
)
def test_handles(arguments: tuple, expected: tuple | None) -> None:
    """Refused: too few or many, beyond the records, and more records, dummies or decoys than possible."""
    if expected is None:
        with refusal(ErrorCode.UPLOAD_CORRUPT):
            checked_handles(*arguments)
    else:
        handles, *counts = checked_handles(*arguments)
        assert (handles.tolist(), *counts) == expected


def test_rows_of_codes() -> None:
    assert checked_codes(of(4, 0), 2, 5).tolist() == [4, 0]
    assert checked_codes(of(), 0, 5).shape == (0,)
    for codes, n, n_records in ((None, 2, 5), (of(4, 0), 3, 5), (of(4, 0), 1, 5), (of(4, 0), 2, 4), (of(0, 0), 2, 5)):
        with refusal(ErrorCode.UPLOAD_CORRUPT):
            checked_codes(codes, n, n_records)
