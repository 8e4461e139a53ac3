"""Samples for chance agreement: drawn by values, in groups under keys of their own, joined by nothing."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.keys.derivation import Purpose, Seed, derive
from gemel.common.keys.noise import NoiseKey
from gemel.common.signatures.layout import GROUP_ROWS, GROUPS, SAMPLES, sample_rows
from gemel.common.signatures.payload import to_bytes
from gemel.common.signatures.signature_sets import FieldSignatures, SignatureSet
from gemel.common.specification import encoding_digest, load_specification
from gemel.custodian.encoding.columns import Drawing
from gemel.custodian.encoding.minhash import signatures
from gemel.custodian.encoding.records import encode_records
from gemel.custodian.encoding.samples import drawn_groups, grouped
from gemel.custodian.tokens import tokenise
from tests.custodian.encoding.encoded_rows import series
from tests.custodian.encoding.minhash.definition import signature, words
from tests.custodian.tokens.definition import tokens
from tests.specifications import heading

SEED = Seed(bytes(range(32)))
NOISE = NoiseKey(bytes(range(32)))
DRAWING = Drawing("project", NOISE)
SPEC = load_specification(
    heading("encoding", "block_keyed")
    + """
fields:
  - {name: surname, kind: name, bits: 128}
  - {name: given, kind: name, bits: 128, key_domain: surname}
  - {name: sex, kind: category, bits: 128}
blocking:
  - {name: sex, keys: [{field: sex}]}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
)
N = GROUPS * GROUP_ROWS + 500


def people(n: int, seed: int = 1) -> dict[str, pl.Series]:
    """Every given name of one person; surnames of several, half of them missing."""
    rng = np.random.default_rng(seed)
    return series(
        {
            "surname": [f"{'abcdefghij'[i % 10]}{i % 700:05d}" if i % 2 else None for i in range(n)],
            "given": [f"{i:06d}x" for i in range(n)],
            "sex": ["m" if i % 20 == 0 else "f" for i in rng.permutation(n)],
        }
    )


def sample_of(columns: dict[str, pl.Series], epoch: int = 1, noise: NoiseKey = NOISE) -> SignatureSet:
    part = encode_records(columns, SPEC, SEED, epoch, noise=noise).sets[-1]
    assert part.rule == SAMPLES
    part.validate()
    return part


def by_group(field: FieldSignatures) -> list[list[bytes | None]]:
    """A field's signatures, group by group."""
    rows = [None if code < 0 else field.signatures[code].tobytes() for code in field.codes.tolist()]
    size = len(rows) // GROUPS
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def read(epoch: int, values: list[str]) -> dict[bytes, tuple[int, str]]:
    """Group and value of every signature that these values can have."""
    digest, found = encoding_digest(SPEC), {}
    split = tokenise(values, "bigrams", bytes(32))
    for group in range(GROUPS):
        keys = derive(SEED, SPEC.project, Purpose.SAMPLE, digest, "surname", f"group {group}", epoch)
        for value, row in zip(values, signatures(split, keys, 128), strict=True):
            found[row.tobytes()] = group, value
    return found


def test_signatures_are_those_of_the_definition_under_the_key_of_their_group() -> None:
    columns = people(7)
    sample = sample_of(columns)
    digest = encoding_digest(SPEC)
    for name in ("surname", "given"):
        held = [value for value in columns[name].to_list() if value]
        for group, rows in enumerate(by_group(sample.fields[name])):
            keys = derive(SEED, SPEC.project, Purpose.SAMPLE, digest, "surname", f"group {group}", 1)
            made = [words(signature(tokens(value, "bigrams", bytes(32)), keys, 128, bytes(8))) for value in held]
            # A file of fewer records than a group holds is in every group, each record once.
            found = Counter(row for row in rows if row is not None)
            assert found == Counter(np.array(each, dtype="<u8").tobytes() for each in made)
            assert rows.count(None) == 7 - len(held)


def test_no_signature_is_in_two_groups_and_every_value_of_one_person_in_one() -> None:
    sample = sample_of(people(N))
    assert sample.n_rows == sample_rows(N) == GROUPS * GROUP_ROWS
    for field in sample.fields.values():
        seen: dict[bytes, int] = {}
        for group, rows in enumerate(by_group(field)):
            for row in rows:
                assert row is None or seen.setdefault(row, group) == group
    # Given names are of one person each, and no record is in two groups (some numbers have the same bigrams).
    assert sample.fields["given"].n_distinct > 0.95 * sample.n_rows


def test_the_values_of_a_row_are_of_different_people() -> None:
    n = 300
    columns = people(n)
    columns["surname"] = columns["given"].str.replace("x", "y")
    sample = sample_of(columns)
    same = 0
    known = {name: read(1, columns[name].to_list()) for name in ("surname", "given")}
    for group in range(GROUPS):
        mine, theirs = (by_group(sample.fields[name])[group] for name in ("surname", "given"))
        for one, other in zip(mine, theirs, strict=True):
            assert one is not None
            assert other is not None
            same += known["surname"][one][1][:6] == known["given"][other][1][:6]
    # By chance one in 300 of the rows: 27 of 8,000, ten standard errors below this.
    assert same < 80


def test_the_same_records_are_sampled_in_every_upload_and_in_any_order_of_the_file() -> None:
    columns = people(N)
    first = b"".join(map(bytes, to_bytes([sample_of(columns)])))
    assert b"".join(map(bytes, to_bytes([sample_of(columns)]))) == first
    order = np.random.default_rng(2).permutation(N)
    shuffled = {name: column.gather(pl.Series(order)) for name, column in columns.items()}
    assert b"".join(map(bytes, to_bytes([sample_of(shuffled)]))) == first
    assert b"".join(map(bytes, to_bytes([sample_of(columns, noise=NoiseKey(bytes(32)))]))) != first


def test_another_epoch_has_the_same_values_in_each_group_under_other_keys_at_other_places() -> None:
    columns = people(2 * GROUP_ROWS)
    columns["given"] = pl.Series([f"{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(2 * GROUP_ROWS)])
    held = columns["given"].to_list()
    groups = []
    for epoch in (1, 2):
        known, sample = read(epoch, held), sample_of(columns, epoch)
        rows = by_group(sample.fields["given"])
        groups.append([[known[row][1] for row in part if row is not None] for part in rows])
    before, after = groups
    assert [sorted(group) for group in before] == [sorted(group) for group in after]
    same = sum(x == y for one, other in zip(before, after, strict=True) for x, y in zip(one, other, strict=True))
    # One of each random permutation is at its place: 250 of 8,000, 13 standard errors below this.
    assert same < 460


def test_a_record_in_several_groups_has_no_place_of_its_own() -> None:
    """A file of 20 records is in every group whole: equal orders would join its rows across the groups' keys."""
    digests = np.arange(1, 21).astype(np.uint64)
    rows = drawn_groups(digests, "surname", 1, DRAWING)
    assert all(sorted(group) == list(range(20)) for group in rows.tolist())
    same = sum(np.count_nonzero(rows[i] == rows[j]) for i in range(40) for j in range(i))
    # One of each pair of random permutations: 780, and ten standard errors more.
    assert same < 1060


def test_a_sample_is_that_of_its_definition() -> None:
    rng = np.random.default_rng(2)
    digests = rng.integers(0, 40, N).astype(np.uint64)

    def numbers(purpose: str, pairs: list[tuple[int, int]]) -> list[int]:
        cipher = Cipher(AES(NOISE.derive("project", purpose).k1), ECB()).encryptor()  # noqa: S305 - the definition
        blocks = (a.to_bytes(8, "little") + b.to_bytes(8, "little") for a, b in pairs)
        return [int.from_bytes(cipher.update(block)[:8], "little") for block in blocks]

    seen: Counter[int] = Counter()
    occurrences = []
    for value in digests.tolist():
        occurrences.append((value, seen[value]))
        seen[value] += 1
    drawn = np.argsort(np.array(numbers("sample of surname, round 0", occurrences), dtype=np.uint64))
    found = drawn_groups(digests, "surname", 3, DRAWING)
    assert found.shape == (GROUPS, GROUP_ROWS)
    for group in (0, 1, GROUPS - 1):
        rows = drawn[group * GROUP_ROWS : (group + 1) * GROUP_ROWS].tolist()
        purpose = f"places in group {group} of the sample of surname, epoch 3"
        places = numbers(purpose, [occurrences[row] for row in rows])
        assert found[group].tolist() == [row for _, row in sorted(zip(places, rows, strict=True))]
    # Of two fields with the same values, and of two custodians, it is another.
    for other in (
        drawn_groups(digests, "given", 3, DRAWING),
        drawn_groups(digests, "surname", 3, Drawing("project", NoiseKey(bytes(32)))),
    ):
        assert set(other[0].tolist()) != set(found[0].tolist())


@given(records=st.integers(1, 3 * GROUP_ROWS) | st.integers(1, 3 * GROUPS * GROUP_ROWS))
def test_records_are_in_as_few_groups_as_can_be_and_never_twice_in_one(records: int) -> None:
    rows = grouped(records, lambda number: np.roll(np.arange(records), number))
    assert rows.shape == (GROUPS, min(records, GROUP_ROWS))
    assert all(len(set(group)) == len(group) for group in rows.tolist())
    times = np.bincount(rows.ravel(), minlength=records)
    rounds = -(-GROUPS // min(GROUPS, records // min(records, GROUP_ROWS)))
    assert times.max() <= rounds
    if records >= GROUPS * GROUP_ROWS:
        assert times.max() == 1


@pytest.mark.parametrize("share", [0.5, 0.05])
def test_every_record_is_equally_likely_whatever_its_value(share: float) -> None:
    rng = np.random.default_rng(4)
    digests = np.where(rng.random(20_000) < share, np.uint64(7), rng.integers(0, 1 << 62, 20_000).astype(np.uint64))
    drawn = np.concatenate([digests[drawn_groups(digests, f"field {i}", 1, DRAWING).ravel()] for i in range(3)])
    true = float((digests == 7).mean())
    # Six standard errors of a share among 24,000 draws.
    assert abs(float((drawn == 7).mean()) - true) < 6 * np.sqrt(true * (1 - true) / len(drawn))
