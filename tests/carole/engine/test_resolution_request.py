"""The request to a resolver and its result: they survive packing, and malformed ones are refused."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from benchmarks.modes import people
from gemel.carole.engine import Candidates, LinkagePlan, Resources, compare, conclude
from gemel.carole.engine.inputs.files import contribution_of
from gemel.carole.engine.pairs.stream import KeptPairs
from gemel.carole.engine.resolution.resolution_exchange import checked_codes, checked_handles
from gemel.carole.engine.resolution.resolution_request import ResolutionRequest, pack_request, unpack_request
from gemel.carole.engine.run.specified import plan_of
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.derivation import Seed
from gemel.common.parties import Side
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.columns import random_order
from gemel.custodian.encoding.records import Encoded, encode_records
from tests.carole.engine.progress import quiet

RESOURCES = Resources(2 << 30, 2)
DIGESTS = bytes(range(32)), bytes(range(32, 64))
Asked = tuple[LinkagePlan, Candidates, KeptPairs, dict[Side, Encoded]]


@pytest.fixture(scope="module")
def requested() -> Asked:
    spec, files = people(300, 0.3, 2)
    spec = spec.model_copy(update={"mode": "block_keyed"})
    seed = Seed(bytes(range(32)))
    made = {side: encode_records(clean(files[side], spec, side).columns, spec, seed, 1) for side in Side}
    plan = plan_of(spec)
    parts = [contribution_of(made[side].sets, 300) for side in Side]
    found, kept = compare(parts[0], parts[1], plan, RESOURCES, quiet)
    return plan, found, kept, made


def records_of(kept: KeptPairs, made: dict[Side, Encoded]) -> list[np.ndarray]:
    rows = zip(Side, (kept.row_a, kept.row_b), strict=True)
    return [made[side].order[of_pairs].astype(np.int32) for side, of_pairs in rows]


def test_a_resolver_decides_as_carole_would_and_pairs_find_their_way_back(requested: Asked) -> None:
    plan, found, kept, made = requested
    records = [
        made[side].order[rows].astype(np.int32) for side, rows in zip(Side, (kept.row_a, kept.row_b), strict=True)
    ]
    direct, place = conclude(found, records[0], records[1], plan, quiet)
    order = random_order(len(kept.pattern))
    unpacked = unpack_request(pack_request(ResolutionRequest(found, DIGESTS, 3), order), plan)
    request = unpacked.found
    assert (unpacked.requested, unpacked.threads) == (DIGESTS, 3)
    assert request.warnings == found.warnings
    assert request.missing == found.missing
    # Other handles for the same records change nothing.
    names = [random_order(300).astype(np.int32) for _ in Side]
    handles = [name[record[order]] for name, record in zip(names, records, strict=True)]
    resolved, back = conclude(request, handles[0], handles[1], plan, quiet)
    row_a, row_b = kept.row_a[order][back], kept.row_b[order][back]

    def links(row_a: np.ndarray, row_b: np.ndarray, which: np.ndarray) -> set[tuple[int, int]]:
        return set(zip(row_a[which].tolist(), row_b[which].tolist(), strict=True))

    expected = links(kept.row_a[place], kept.row_b[place], direct.links)
    assert links(row_a, row_b, resolved.links) == expected
    weight = {(a, b): w for a, b, w in zip(kept.row_a[place], kept.row_b[place], direct.pairs.weight, strict=True)}
    for a, b, w in zip(row_a, row_b, resolved.pairs.weight, strict=True):
        assert weight[a, b] == pytest.approx(w)


def test_no_row_and_no_signature_is_in_the_request(requested: Asked) -> None:
    _, found, kept, made = requested
    content = pack_request(ResolutionRequest(found, DIGESTS, 1), random_order(len(kept.pattern)))
    for side in Side:
        for part in made[side].sets:
            for field in part.fields.values():
                assert not any(signature.tobytes() in content for signature in field.signatures[:20])
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        sizes = {name: archive.getinfo(name).file_size for name in archive.namelist()}
    assert not any("row" in name or "block" in name for name in sizes)


@pytest.mark.parametrize("spoil", ["truncated", "compressed", "pattern", "field", "object", "document"])
def test_a_malformed_request_is_refused(requested: Asked, spoil: str) -> None:
    plan, found, kept, _ = requested
    content = pack_request(ResolutionRequest(found, DIGESTS, 1), np.arange(len(kept.pattern)))
    parts: dict[str, bytes] = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}

    def array(values: np.ndarray, pickled: bool = False) -> bytes:
        part = io.BytesIO()
        np.lib.format.write_array(part, values, allow_pickle=pickled)
        return part.getvalue()

    kind = zipfile.ZIP_DEFLATED if spoil == "compressed" else zipfile.ZIP_STORED
    if spoil == "pattern":
        parts["pattern.npy"] = array(np.array([10**6], dtype=np.int32))
    if spoil == "field":
        parts["gamma.npy"] = array(np.zeros((3, 2), dtype=np.int8))
    if spoil == "object":
        parts["mask.npy"] = array(np.array([{}], dtype=object), pickled=True)
    if spoil == "document":
        parts["document.json"] = b"[]"
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", kind) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    bad = content[: len(content) // 2] if spoil == "truncated" else made.getvalue()
    with pytest.raises(GemelError) as caught:
        unpack_request(bad, plan)
    assert caught.value.code is ErrorCode.UPLOAD_CORRUPT


def test_invalid_handles_are_refused() -> None:
    good = np.array([0, 1, 1], dtype=np.uint32)
    numbers, n_known, _ = checked_handles(good, 3, 2)
    assert (numbers.tolist(), n_known) == ([0, 1, 1], 2)
    for bad in (good[:-1], np.append(good, good[:1]), np.array([0, 1, 2], dtype=np.uint32)):
        with pytest.raises(GemelError):
            checked_handles(bad, 3, 2)
    with_dummies = np.array([0, 1, 2], dtype=np.uint32)
    numbers, n_known, _ = checked_handles(with_dummies, 3, 2, np.array([1], dtype=np.uint32))
    assert (numbers.tolist(), n_known) == ([0, 1, 2], 1)
    for among in ([], [3], [1, 1]):
        with pytest.raises(GemelError):
            checked_handles(with_dummies, 3, 2, np.array(among, dtype=np.uint32))
    with pytest.raises(GemelError):
        checked_handles(np.array([0, 1, 4], dtype=np.uint32), 3, 2, np.array([1], dtype=np.uint32))
    one, two = (np.array([n], dtype=np.uint32) for n in (1, 2))
    assert checked_handles(with_dummies, 3, 2, one, two, 5)[1:] == (1, 2)
    for decoys, maximum in ((two, 1), (np.append(two, two), 5), (two[:0], 5)):
        with pytest.raises(GemelError):
            checked_handles(with_dummies, 3, 2, one, decoys, maximum)
    codes = np.array([4, 0], dtype=np.uint32)
    assert checked_codes(codes, 2, 5).tolist() == [4, 0]
    assert checked_codes(codes[:0], 0, 5).shape == (0,)
    for rows_of_codes, n_known, n_records in (
        (None, 2, 5),
        (codes, 3, 5),
        (codes, 1, 5),
        (codes, 2, 4),
        (codes * 0, 2, 5),
    ):
        with pytest.raises(GemelError) as caught:
            checked_codes(rows_of_codes, n_known, n_records)
        assert caught.value.code is ErrorCode.UPLOAD_CORRUPT
