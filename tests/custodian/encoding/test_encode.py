"""Encoding: every row's signature is the definition's, rows are shuffled without a trace, bad columns are refused."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode
from gemel.common.keys.derivation import Purpose, Seed, derive, derive_key
from gemel.common.parties import Side
from gemel.common.signatures.payload import from_bytes, to_bytes
from gemel.common.signatures.signature_sets import SignatureSet, layout_of
from gemel.common.specification import Specification, encoding_digest, load_specification
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.columns import file_order
from gemel.custodian.encoding.records import encode_records
from gemel.custodian.encoding.signing import Signer, canonical
from tests.carole.refusals import refusal
from tests.custodian.encoding.encoded_rows import series
from tests.custodian.encoding.minhash.definition import signature, words
from tests.custodian.tokens.definition import tokens
from tests.specifications import heading

VECTORS = Path(__file__).parents[2] / "vectors"
SEED = Seed(bytes(range(32)))
EPOCH = 3
TEXT = (
    heading("encoding")
    + """
fields:
  - {name: surname, kind: name, bits: 128}
  - {name: given, kind: name, bits: 128, key_domain: surname}
  - {name: born, kind: date, date: {order: ymd}, tokens: date_parts, bits: 128}
  - {name: street, kind: text, tokens: words, bits: 64}
  - {name: sex, kind: category, bits: 64}
blocking:
  - {name: born, keys: [{field: born}]}
  - {name: name-year, keys: [{field: surname, prefix: 3}, {field: born, part: year}]}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
)
SPEC = load_specification(TEXT)
COLUMNS = {
    "surname": ["smith", "smyth", "aaaa", "aaa", None, "smith"],
    "given": ["john", None, "smith", "x", "john", "john"],
    "born": ["19151107", "19150000", None, "00001107", "19151107", "20000229"],
    "street": ["1 main st", "main st", " ", "main st", None, "st main"],
    "sex": ["f", "m", "f", None, "m", "m"],
}


def encode(*args: Any, **options: Any) -> tuple[SignatureSet, NDArray[np.int64]]:
    made = encode_records(*args, **options)
    (part,) = made.sets
    return part, made.order


def by_the_book(value: str | None, name: str, spec: Specification = SPEC) -> list[int] | None:
    """A value's signature, step by step."""
    field, digest = spec.field(name), encoding_digest(spec)
    keys = derive(SEED, spec.project, Purpose.SIGNATURE, digest, field.key_domain, "", EPOCH)
    token_key = derive_key(SEED, spec.project, Purpose.TOKEN, digest, field.key_domain, "", EPOCH)
    codes = tokens(value, field.tokens, token_key) if value is not None else frozenset()
    return words(signature(codes, keys, field.bits)) if codes else None


def check(part: SignatureSet, order: NDArray[np.int64], columns: dict[str, list[str | None]]) -> None:
    part.validate()
    assert list(part.fields) == [field.name for field in SPEC.fields]
    for name, field in part.fields.items():
        expected = {value: by_the_book(value, name) for value in set(columns[name])}
        for row, source in enumerate(order.tolist()):
            code = field.codes[row]
            assert (field.signatures[code].tolist() if code >= 0 else None) == expected[columns[name][source]]


@given(data=st.data(), rows=st.integers(1, 12))
def test_every_row_has_the_signature_of_the_definition(data: st.DataObject, rows: int) -> None:
    text = st.none() | st.text(alphabet="ab ", max_size=4)
    date = st.none() | st.sampled_from(["19151107", "19150000", "00001107", "19000101"])
    columns = {
        field.name: data.draw(st.lists(date if field.kind == "date" else text, min_size=rows, max_size=rows))
        for field in SPEC.fields
    }
    part, order = encode(series(columns), SPEC, SEED, EPOCH)
    assert sorted(order.tolist()) == list(range(rows))
    check(part, order, columns)


def test_missing_values_and_values_of_equal_tokens() -> None:
    part, order = encode(series(COLUMNS), SPEC, SEED, EPOCH, shuffle=file_order)
    assert order.tolist() == list(range(6))
    check(part, order, COLUMNS)
    codes = part.fields["surname"].codes
    assert codes[2] == codes[3]  # aaaa and aaa have the same bigrams
    assert codes[4] == -1
    assert part.fields["street"].codes[2] == -1  # no words
    assert part.fields["street"].codes[1] == part.fields["street"].codes[3]
    assert part.fields["surname"].n_distinct == 3


def test_fields_of_one_key_domain_can_be_compared() -> None:
    part, _ = encode(series(COLUMNS), SPEC, SEED, EPOCH, shuffle=file_order)
    surname, given = part.fields["surname"], part.fields["given"]
    assert surname.signatures[surname.codes[0], 0] == given.signatures[given.codes[2], 0]  # both smith


def test_other_seeds_epochs_and_specifications_give_other_signatures_and_keys() -> None:
    first, _ = encode(series(COLUMNS), SPEC, SEED, EPOCH, shuffle=file_order)
    wider = load_specification(
        TEXT.replace("{name: sex, kind: category, bits: 64}", "{name: sex, kind: category, bits: 128}")
    )
    for spec, seed, epoch in ((SPEC, Seed(bytes(range(1, 33))), EPOCH), (SPEC, SEED, EPOCH + 1), (wider, SEED, EPOCH)):
        other, _ = encode(series(COLUMNS), spec, seed, epoch, shuffle=file_order)
        for name in ("surname", "born"):
            both = first.fields[name].signatures, other.fields[name].signatures
            assert not {row.tobytes() for row in both[0]} & {row.tobytes() for row in both[1]}
        assert not set(first.blocks["born"].tolist()) - {0} & set(other.blocks["born"].tolist())


def test_the_seed_of_the_shuffle_is_nobodys() -> None:
    rows = 500
    columns = series({name: [values[i % 6] for i in range(rows)] for name, values in COLUMNS.items()})
    first, order = encode(columns, SPEC, SEED, EPOCH)
    second, other = encode(columns, SPEC, SEED, EPOCH)
    assert not np.array_equal(order, other)
    back = np.argsort(order), np.argsort(other)
    for name in first.fields:
        np.testing.assert_array_equal(first.fields[name].signatures, second.fields[name].signatures)
        np.testing.assert_array_equal(first.fields[name].codes[back[0]], second.fields[name].codes[back[1]])
    for rule in first.blocks:
        np.testing.assert_array_equal(first.blocks[rule][back[0]], second.blocks[rule][back[1]])


@pytest.mark.parametrize("threads", [1, 3])
def test_progress_runs_to_the_end_and_threads_change_nothing(threads: int) -> None:
    reported: list[tuple[str, float]] = []
    part, _ = encode(
        series(COLUMNS),
        SPEC,
        SEED,
        EPOCH,
        shuffle=file_order,
        threads=threads,
        progress=lambda what, done: reported.append((what, done)),
    )
    check(part, file_order(6), COLUMNS)
    assert list(part.blocks) == ["born", "name-year"]
    assert sorted(what for what, _ in reported) == sorted(
        [f"{what} {field.name}" for what in ("prepared", "signed") for field in SPEC.fields]
        + [f"blocking keys {rule.name}" for rule in SPEC.blocking]
    )
    shares = [done for _, done in reported]
    assert shares == sorted(set(shares))
    assert shares[-1] == 1


GOOD = series(COLUMNS)


@pytest.mark.parametrize(
    ("columns", "code", "what"),
    [
        ({name: column for name, column in GOOD.items() if name != "born"}, ErrorCode.FIELD_MISSING, "born"),
        ({name: column.head(0) for name, column in GOOD.items()}, ErrorCode.EMPTY_SOURCE, ""),
        ({**GOOD, "born": GOOD["born"].head(2)}, ErrorCode.PARAMETER, ""),
        ({**GOOD, "sex": pl.Series([1, 2, 1, 2, 1, 2])}, ErrorCode.PARAMETER, ""),
        ({**GOOD, "born": pl.Series(["7 Nov 1915"] * 6)}, ErrorCode.PARAMETER, "field born"),
    ],
    ids=["a column missing", "no rows", "too few rows", "numbers", "not cleaned"],
)
def test_bad_columns_are_refused(columns: dict[str, pl.Series], code: ErrorCode, what: str) -> None:
    with refusal(code, what) as caught:
        encode(columns, SPEC, SEED, EPOCH)
    assert "1915" not in str(caught.value)


def test_a_column_without_any_value() -> None:
    columns = series({**COLUMNS, "sex": [None] * 6})
    part, order = encode(columns, SPEC, SEED, EPOCH)
    check(part, order, {**COLUMNS, "sex": [None] * 6})
    assert part.fields["sex"].n_distinct == 0


def test_from_file_to_bytes_nothing_has_changed() -> None:
    """Golden: cleaning, Unicode form, tokens, keys, signatures, blocking keys and layout together.

    The encoding digest, which enters every key, holds the version of Python's Unicode tables: with others the
    signatures are meant to differ.
    """
    golden: dict[str, Any] = json.loads((VECTORS / "contribution.json").read_text("ascii"))
    if unicodedata.unidata_version != golden["unicode"]:
        pytest.skip(f"the golden contribution was made with Unicode {golden['unicode']}")
    spec = load_specification(golden["specification"])
    assert encoding_digest(spec).hex() == golden["encoding_digest"]
    frame = pl.DataFrame(golden["records"])
    cleaned = clean(frame, spec, Side.ALICE)
    part, _ = encode(cleaned.columns, spec, Seed(bytes.fromhex(golden["seed"])), golden["epoch"], shuffle=file_order)
    payload = b"".join(to_bytes([part]))
    assert hashlib.sha256(payload).hexdigest() == golden["sha256"]
    assert payload.hex() == golden["payload"]
    (back,) = from_bytes(layout_of([part]), payload)
    assert back.fields.keys() == part.fields.keys()


# One way to sign: each distinct value once, or once in each context; signatures leave in the order of their bytes.

SIGNING_SPEC = load_specification(
    heading("signing")
    + """
fields: [{name: surname, kind: name, bits: 192}]
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
)


def signing_by_the_book(value: str | None, block: int, rule: str) -> list[int] | None:
    digest = encoding_digest(SIGNING_SPEC)
    keys = derive(SEED, "signing", Purpose.SIGNATURE, digest, "surname", rule, 5)
    token_key = derive_key(SEED, "signing", Purpose.TOKEN, digest, "surname", "", 5)
    codes = tokens(value, "bigrams", token_key) if value else ()
    return words(signature(codes, keys, 192, block.to_bytes(8, "little"))) if codes else None


@given(
    column=st.lists(st.none() | st.text(alphabet="abc", max_size=5), min_size=1, max_size=9),
    data=st.data(),
    rule=st.sampled_from(["", "born"]),
)
def test_any_rows_in_any_blocks_or_none_have_the_signatures_of_the_definition(
    column: list[str | None], data: st.DataObject, rule: str
) -> None:
    """Also of some rows only, whose values are fewer; a row without a block's digest has no signature."""
    rows = data.draw(st.lists(st.integers(0, len(column) - 1), max_size=12))
    digest = st.sampled_from([0, 7]) | st.integers(0, 2**64 - 1)
    block = data.draw(st.none() | st.lists(digest, min_size=len(rows), max_size=len(rows)))
    signer = Signer(SIGNING_SPEC, SEED, 5)
    prepared = signer.prepare(SIGNING_SPEC.field("surname"), {"surname": pl.Series(column, dtype=pl.String)})
    blocks = None if block is None else np.array(block, dtype=np.uint64)
    found = signer.sign(prepared, np.array(rows, dtype=np.int64), blocks, rule=rule)
    for place, row in enumerate(rows):
        signed = block is None or block[place] != 0
        expected = signing_by_the_book(column[row], block[place] if block else 0, rule) if signed else None
        code = found.codes[place]
        assert (found.signatures[code].tolist() if code >= 0 else None) == expected
    assert sorted(set(found.codes.tolist()) - {-1}) == list(range(found.n_distinct))


@given(st.lists(st.lists(st.sampled_from([0, 1, 256, 2**63, 2**64 - 1]), min_size=3, max_size=3), max_size=40))
def test_canonical_order_is_that_of_the_bytes(rows: list[list[int]]) -> None:
    signed = np.array(rows, dtype=np.uint64).reshape(len(rows), 3)
    ordered, ranks = canonical(signed)
    assert [row.astype("<u8").tobytes() for row in ordered] == sorted({row.astype("<u8").tobytes() for row in signed})
    np.testing.assert_array_equal(ordered[ranks], signed)
