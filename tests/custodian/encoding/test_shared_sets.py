"""Mode shared: a custodian sends shares of the words of its rows, fresh each time, and bound to their blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.derivation import Seed
from gemel.common.keys.noise import NoiseKey
from gemel.common.parties import ComputeParty, Side
from gemel.common.signatures import intervals
from gemel.common.signatures.custodian_shares import ShareSecrets
from gemel.common.signatures.layout import CODES, SAMPLES, Layout
from gemel.common.signatures.party_sets import PartyContribution, SharedUpload, ShareHeader
from gemel.common.signatures.signature_sets import NO_KEY, SignatureSet
from gemel.common.specification import load_specification
from gemel.custodian.encoding.records import Encoded, encode_records
from gemel.custodian.encoding.shared_in_memory import SharedEncoded, shared_in_memory
from gemel.custodian.encoding.shared_sets import SharedSet, Sharing, sent_bytes
from tests.carole.refusals import refusal
from tests.custodian.encoding.encoded_rows import series
from tests.specifications import heading

SEED, NOISE = Seed(bytes(range(32))), NoiseKey(bytes(range(1, 33)))
SPEC = load_specification(
    heading("shares", "shared")
    + """
fields:
  - {name: surname, kind: name, bits: 128}
  - {name: town, kind: name, bits: 64}
  - {name: born, kind: date, date: {order: ymd}, bits: 128}
  - {name: sex, kind: category}
blocking:
  - {name: born, keys: [{field: born}], withheld: [town]}
  - {name: name, keys: [{field: surname, prefix: 2}], split: sex}
  - {name: town, keys: [{field: town, prefix: 1}]}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
)
RULES = tuple(rule.name for rule in SPEC.keyed_rules)
WITHHELD = {"born": {"town"}}
CAROLE, COORDINATOR, STEWARD = ComputeParty
ABOUT = SharedUpload("shares", Side.ALICE, "in one process")


def people(n: int, seed: int) -> dict[str, pl.Series]:
    rng = np.random.default_rng(seed)
    names = [f"{a}{b}mith" for a in "abcdefgh" for b in "aeiou"]
    return series(
        {
            "surname": [names[i] if i else None for i in rng.integers(0, len(names), n)],
            "town": [names[i][::-1] if i > 3 else None for i in rng.integers(0, len(names), n)],
            "born": [f"19{y:02}0{m}11" if y else None for y, m in rng.integers((0, 1), (60, 9), (n, 2)).tolist()],
            "sex": ["f" if x < 0.5 else "m" for x in rng.random(n)],
        }
    )


@pytest.fixture(scope="module")
def encoded() -> Encoded:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intervals, "INTERVAL_ROWS", 200)
        return encode_records(people(500, 1), SPEC, SEED, 1, noise=NOISE)


@pytest.fixture(scope="module")
def shared(encoded: Encoded) -> SharedEncoded:
    return shared_in_memory(encoded, SPEC, Side.ALICE)


def opened(made: SharedEncoded, number: int) -> np.ndarray:
    """The words of a set, from the first shares of all three."""
    first = [party.rows(number)[0] for party in made.contributions]
    return np.asarray(first[0] ^ first[1] ^ first[2])


def test_the_shares_of_all_three_are_the_words_of_the_rows(encoded: Encoded, shared: SharedEncoded) -> None:
    carole = shared.contributions[0]
    assert [part.rule for part in carole.sets] == [part.rule for part in encoded.sets if part.rule in RULES]
    assert len(carole.sets) > len(RULES)
    at = dict.fromkeys(RULES, 0)
    for number, (part, layout) in enumerate(zip(encoded.sets, (*carole.sets, None), strict=True)):
        words, found = carole.words(number), opened(shared, number)
        rows = {row: place for place, row in enumerate(encoded.orders[part.rule])} if layout else {}
        for place, line in enumerate(found):
            row = place
            if layout:
                row = rows[shared.orders[part.rule][at[part.rule] + place]] - at[part.rule]
            for name, field in part.fields.items():
                if layout and (field.content == "fixed" or name in WITHHELD.get(part.rule, ())):
                    assert name not in dict(words.fields)
                    continue
                word, bit = words.presence(name)
                code = int(field.codes[row])
                assert bool(int(line[word]) >> bit & 1) == (code >= 0)
                if code >= 0:
                    assert (line[words.signature(name)] == field.signatures[code]).all()
            for tag in words.tags:
                if part.blocks[tag][row] != NO_KEY:
                    assert line[words.tag(tag)] == part.blocks[tag][row]
            if layout:
                assert carole.digests(number)[place] == part.blocks[part.rule][row]
        if layout:
            at[part.rule] += part.n_rows
            assert set(words.tags) == set(RULES) - {part.rule}
            assert (np.diff(carole.digests(number).astype(object)) >= 0).all()
    assert carole.sample_words.tags == ()


def test_two_parties_who_hold_a_share_have_the_same_one(shared: SharedEncoded) -> None:
    for number in range(len(shared.contributions[0].sets) + 1):
        rows = [party.rows(number) for party in shared.contributions]
        for party in ComputeParty:
            assert (rows[party][1] == rows[party.next][0]).all()
    assert len({party.seed_digests for party in shared.contributions}) == 1


def test_where_nothing_is_the_words_are_random(encoded: Encoded, shared: SharedEncoded) -> None:
    number = next(n for n, part in enumerate(encoded.sets) if part.rule == "name")
    words, found = shared.contributions[0].words(number), opened(shared, number)
    word, bit = words.presence("town")
    missing = (found[:, word] >> np.uint64(bit) & np.uint64(1)) == 0
    assert missing.sum() > 5
    assert len(np.unique(found[missing][:, words.signature("town")])) == missing.sum()
    assert len(np.unique(found[missing][:, words.tag("town")])) == missing.sum()


def test_two_uploads_of_a_file_share_sizes_and_digests_alone(encoded: Encoded, shared: SharedEncoded) -> None:
    again = shared_in_memory(encoded, SPEC, Side.ALICE)
    first, second = shared.contributions[2], again.contributions[2]
    assert first.sets == second.sets
    assert first.seed_digests != second.seed_digests
    same = total = ones = 0
    for number in range(len(first.sets) + 1):
        if number < len(first.sets):
            assert (first.digests(number) == second.digests(number)).all()
        a, b = first.rows(number), second.rows(number)
        same, total = same + int((a == b).sum()), total + a.size
        ones += int(np.bitwise_count(a).sum()) + int(np.bitwise_count(b).sum())
    assert same == 0
    assert total > 50_000
    # 12.8 million bits and more: six standard deviations.
    assert abs(ones - 64 * total) < 6 * np.sqrt(128 * total / 4)
    assert any((shared.orders[rule] != again.orders[rule]).any() for rule in RULES)
    for rule in RULES:
        assert sorted(shared.orders[rule]) == sorted(encoded.orders[rule])


def test_the_order_within_a_block_is_drawn(encoded: Encoded) -> None:
    part = max((part for part in encoded.sets if part.rule == "town"), key=lambda part: part.n_rows)
    first = set()
    for _ in range(40):
        _, order = Sharing(SPEC, ABOUT, ShareSecrets.fresh()).shared(part)
        assert (part.blocks["town"][order] == np.sort(part.blocks["town"])).all()
        first.add(int(order[0]))
    assert len(first) > 2


def made_of(encoded: Encoded) -> tuple[Layout, list[bytes], ShareSecrets]:
    fresh = ShareSecrets.fresh()
    sharing = Sharing(SPEC, ABOUT, fresh)
    sent = [sharing.shared(part)[0] for part in encoded.sets]
    return Layout(tuple(part.layout for part in sent), encoded.records), [b"".join(sent_bytes(p)) for p in sent], fresh


def reading(payloads: list[bytes]) -> Callable[[int, int], bytes]:
    """All of a set, with what was added to it, or its digests alone."""
    return lambda number, size: payloads[number] if size > 800 else payloads[number][:size]


def test_carole_reads_digests_alone_and_opens_no_share(encoded: Encoded) -> None:
    layout, payloads, fresh = made_of(encoded)
    own = fresh.of(CAROLE)
    assert own.of(2) is None
    assert fresh.by_share[2] not in (own.first, own.second)
    asked: list[tuple[int, int]] = []

    def read(number: int, size: int) -> bytes:
        asked.append((number, size))
        return payloads[number][:size]

    carole = PartyContribution(CAROLE, ShareHeader(ABOUT, own), layout, read)
    steward = PartyContribution(STEWARD, ShareHeader(ABOUT, fresh.of(STEWARD)), layout, read)
    assert (carole.rows(0)[0] == steward.rows(0)[1]).all()
    assert asked == [(0, layout.sets[0].total_bytes)]  # the steward's: Carole's rows are of seeds
    assert (carole.digests(0) == steward.digests(0)).all()
    assert asked[1:] == [(0, 8 * layout.sets[0].rows)]
    with pytest.raises(GemelError, match="Carole's"):
        PartyContribution(STEWARD, ShareHeader(ABOUT, own), layout, read)


def flipped(content: bytes, place: int) -> bytes:
    changed = bytearray(content)
    changed[place] ^= 1
    return bytes(changed)


def swapped_rows(content: bytes, joined: bool = False) -> bytes:
    """The digests of the first two rows that are of different blocks, changed for each other, or made one."""
    digests = np.frombuffer(content[:800], dtype="<u8").copy()
    place = int(np.flatnonzero(np.diff(digests))[0])
    digests[[place, place + 1]] = digests[[place + 1, place + 1 if joined else place]]
    return digests.tobytes() + content[800:]


def joined_blocks(content: bytes) -> bytes:
    """The first row put into the block of another, still in order."""
    return swapped_rows(content, joined=True)


def without_key(content: bytes) -> bytes:
    return bytes(8) + content[8:]


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        (lambda content: flipped(content, -20), "does not open"),
        (lambda content: flipped(content, -1), "does not open"),
        (joined_blocks, "does not open"),
        (swapped_rows, "another order"),
        (without_key, "without a key"),
        (lambda content: content[:-8], "bytes"),
        (lambda content: content + bytes(8), "bytes"),
    ],
)
def test_what_carole_changes_does_not_open(encoded: Encoded, change: Callable[[bytes], bytes], refused: str) -> None:
    layout, payloads, fresh = made_of(encoded)
    payloads[0] = change(payloads[0])
    reader = PartyContribution(COORDINATOR, ShareHeader(ABOUT, fresh.of(COORDINATOR)), layout, reading(payloads))
    with refusal(ErrorCode.UPLOAD_CORRUPT, refused):
        reader.rows(0)


def test_another_set_upload_or_digest_later_does_not_open(encoded: Encoded) -> None:
    layout, payloads, fresh = made_of(encoded)
    header = ShareHeader(ABOUT, fresh.of(STEWARD))
    for other in (
        replace(ABOUT, upload="another"), replace(ABOUT, side=Side.BOB), replace(ABOUT, project="another")
    ):  # fmt: skip
        with pytest.raises(GemelError, match="does not open"):
            _ = PartyContribution(STEWARD, replace(header, upload=other), layout, reading(payloads)).sample
    shown = [joined_blocks(payloads[0]), payloads[1], payloads[0]]
    reader = PartyContribution(STEWARD, header, layout, lambda number, size: shown.pop(0)[:size])
    reader.digests(0)
    reader.rows(1)
    with pytest.raises(GemelError, match="stay as they were"):
        reader.rows(0)


def test_sizes_of_a_shared_set() -> None:
    empty = {name: column.head(1) for name, column in people(3, 5).items()}
    sharing = Sharing(SPEC, ABOUT, ShareSecrets.fresh())
    made = encode_records(empty, SPEC, SEED, 1, noise=NOISE)
    for part in made.sets:
        sent, _ = sharing.shared(part)
        assert isinstance(sent, SharedSet)
        assert sum(each.nbytes for each in sent_bytes(sent)) == sent.layout.total_bytes
    name = next(part for part in made.sets if part.rule == "name")
    layout = sharing.shared(name)[0].layout
    contents = {field.name: field.content for field in layout.fields}
    assert contents == {"surname": "shared", "town": "shared", "born": "shared", "sex": "fixed"}
    # A row: presence, two tags, 128 + 64 + 128 bits; its digest; once the seal.
    assert layout.total_bytes == layout.rows * (8 + (1 + 2 + 5) * 8) + 16
    born = sharing.shared(next(part for part in made.sets if part.rule == "born"))[0].layout
    contents = {field.name: field.content for field in born.fields}
    assert contents == {"surname": "shared", "town": "withheld", "born": "fixed", "sex": "shared"}


def test_codes_are_sent_as_they_are() -> None:
    codes = SignatureSet(CODES, 0, {}, {})
    sent, order = Sharing(SPEC, ABOUT, ShareSecrets.fresh()).shared(codes)
    assert sent is codes
    assert len(order) == 0


def test_a_layout_that_shares_in_part_is_refused(encoded: Encoded) -> None:
    layout, _, _ = made_of(encoded)
    layout.validate()
    first, *others = layout.sets
    sample = next(part for part in others if part.rule == SAMPLES)
    for wrong in (
        (encoded.sets[0].layout, *others),
        (replace(first, tags=("born",)), *others),
        (replace(first, blocks=RULES), *others),
        (replace(first, fields=tuple(replace(field, distinct=1) for field in first.fields)), *others),
        (first, *(replace(part, tags=("born",)) if part is sample else part for part in others)),
        (replace(first, rows=2**31 - 1 - sum(part.rows for part in others), fields=tuple(
            replace(field, bits=8192) for field in first.fields
        )), *others),
    ):  # fmt: skip
        with refusal(ErrorCode.UPLOAD_LIMIT):
            Layout(wrong, layout.records).validate()
