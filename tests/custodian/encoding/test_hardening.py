"""Salted fields and lists of similar values, encoded: what compares, what does not, and what is missing."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gemel.common.keys import bulk
from gemel.common.keys.derivation import Purpose, Seed, derive, derive_key
from gemel.common.keys.noise import NoiseKey
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.specification import Specification, encoding_digest, load_specification, specification_digest
from gemel.custodian.encoding.columns import file_order
from gemel.custodian.encoding.decoys import with_decoys
from gemel.custodian.encoding.records import Encoded, encode_records
from tests.custodian.encoding.encoded_rows import series
from tests.custodian.encoding.minhash.definition import signature, words
from tests.custodian.tokens.definition import tokens
from tests.specifications import heading

SEED = Seed(bytes(range(32)))
EPOCH = 3
TEXT = (
    heading("encoding")
    + """
fields:
  - {name: surname, kind: name, bits: 1024}
  - {name: given, kind: name, bits: 1024, key_domain: surname}
  - {name: born, kind: date, date: {order: ymd}, bits: 64}
  - {name: postcode, kind: code, bits: 64}
blocking:
  - {name: name, keys: [{field: surname, prefix: 2}]}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
)


def with_names(setting: str, text: str = TEXT) -> Specification:
    return load_specification(text.replace("bits: 1024", f"bits: 1024, {setting}"))


BY_YEAR = with_names("salt: {field: born, part: year}")


def encoded(spec: Specification, **columns: Sequence[str | None]) -> SignatureSet:
    n = max(map(len, columns.values()))
    whole = {field.name: columns.get(field.name, [None] * n) for field in spec.fields}
    made = encode_records(series(whole), spec, SEED, EPOCH, shuffle=file_order)
    part, order = made.sets[0], made.order
    assert order.tolist() == list(range(n))
    part.validate()
    return part


def signed(part: SignatureSet, name: str) -> list[list[int] | None]:
    """Each row's signature."""
    field = part.fields[name]
    return [field.signatures[code].tolist() if code >= 0 else None for code in field.codes]


def agreement(first: list[int] | None, second: list[int] | None) -> float:
    """Share of bits that agree."""
    assert first is not None
    assert second is not None
    differing = sum((a ^ b).bit_count() for a, b in zip(first, second, strict=True))
    return 1 - differing / (64 * len(first))


def test_equal_values_compare_where_the_salt_is_equal_and_nowhere_else() -> None:
    born = ["19791107", "19790101", "19800101", "19790000", "00001107", None]
    part = encoded(BY_YEAR, surname=["smith"] * 6, given=["smith"] * 6, born=born)
    surname, given_name = signed(part, "surname"), signed(part, "given")
    assert surname[0] == surname[1] == surname[3], "the year is known of a date without month and day"
    assert surname[4] is surname[5] is None, "a row without a year has no signature at all"
    assert surname == given_name, "one key domain has one salt, so that fields can be exchanged"
    # Bits of unrelated signatures agree with probability one half: six standard errors of 1024 bits.
    assert agreement(surname[0], surname[2]) == pytest.approx(0.5, abs=6 * 0.5 / 32)
    assert part.fields["surname"].n_distinct == 2


def test_similar_values_are_similar_within_a_salt_only() -> None:
    part = encoded(BY_YEAR, surname=["smith", "smyth", "smyth"], born=["19791107", "19790101", "19800101"])
    smith, near, far = signed(part, "surname")
    # Four of eight bigrams are shared: J = 1/2, and bits agree with (1 + J)/2.
    assert agreement(smith, near) == pytest.approx(0.75, abs=0.09)
    assert agreement(smith, far) == pytest.approx(0.5, abs=0.09)


@settings(max_examples=25)
@given(
    rows=st.lists(
        st.tuples(
            st.none() | st.text(alphabet="ab ", max_size=4), st.none() | st.sampled_from(["2612", "2613", "26", ""])
        ),
        min_size=1,
        max_size=10,
    )
)
def test_every_row_has_the_signature_of_the_definition(rows: list[tuple[str | None, str | None]]) -> None:
    spec = with_names("salt: {field: postcode, prefix: 3}")
    digest = encoding_digest(spec)
    keys = derive(SEED, spec.project, Purpose.SIGNATURE, digest, "surname", "", EPOCH)
    token_key = derive_key(SEED, spec.project, Purpose.TOKEN, digest, "surname", "", EPOCH)
    part = encoded(spec, surname=[name for name, _ in rows], postcode=[code for _, code in rows])
    salts: dict[str, bytes] = {}
    for (name, postcode), found in zip(rows, signed(part, "surname"), strict=True):
        codes = tokens(name, "bigrams", token_key) if name and postcode else frozenset()
        if not codes:
            assert found is None
            continue
        salt = salts.setdefault(str(postcode)[:3], digest_of(str(postcode)[:3], spec))
        assert found == words(signature(codes, keys, 1024, salt))


def digest_of(salt: str, spec: Specification) -> bytes:
    """The salt's digest by the book: 64 bits of BLAKE2b under the key of salts of the key domain."""
    key = derive_key(SEED, spec.project, Purpose.SALT, encoding_digest(spec), "surname", "", EPOCH)
    return hashlib.blake2b(salt.encode(), key=key, digest_size=8).digest()


def test_a_salt_leaves_other_fields_and_blocking_keys_as_they_are_but_for_the_keys() -> None:
    columns = {"surname": ["smith", "smith"], "born": ["19791107", "19801107"], "postcode": ["2612", "2612"]}
    part = encoded(BY_YEAR, **columns)
    assert part.fields["postcode"].n_distinct == 1
    assert len(set(part.blocks["name"].tolist())) == 1, "a blocking key is not salted"


LISTED = with_names("only_similar: [Smith, SMYTH, O'Brien]")


def test_listed_values_keep_their_similarity_and_others_are_equal_or_unrelated() -> None:
    names = ["smith", "smyth", "smithe", "smithe", "obrien", "obrian"]
    part = encoded(LISTED, surname=names, given=names)
    smith, smyth, smithe, again, obrien, obrian = signed(part, "surname")
    assert agreement(smith, smyth) == pytest.approx(0.75, abs=0.09)
    assert smithe == again
    for code, other in product((smithe, obrian), (smith, smyth, obrien)):
        assert agreement(code, other) == pytest.approx(0.5, abs=0.09)
    assert signed(part, "given") == signed(part, "surname")
    plain = encoded(load_specification(TEXT), surname=names)
    bare = signed(plain, "surname")
    assert agreement(bare[0], bare[2]) > 0.75, "without the list smithe is like smith"


def test_a_list_that_is_cleaned_to_nothing_makes_every_value_a_code() -> None:
    part = encoded(with_names("only_similar: ['!', unknown]"), surname=["smith", "smyth", "smith", None])
    smith, smyth, again, missing = signed(part, "surname")
    assert smith == again
    assert missing is None
    assert agreement(smith, smyth) == pytest.approx(0.5, abs=0.09)


def test_both_together() -> None:
    spec = with_names("only_similar: [smith, smyth], salt: {field: born, part: year}")
    names = ["smith", "smyth", "smithe", "smithe", "smithe"]
    born = ["19790101", "19790202", "19790303", "19790404", "19800101"]
    smith, smyth, code, again, elsewhere = signed(encoded(spec, surname=names, born=born), "surname")
    assert agreement(smith, smyth) == pytest.approx(0.75, abs=0.09)
    assert code == again
    assert agreement(code, elsewhere) == pytest.approx(0.5, abs=0.09)


def test_a_list_holds_inside_blocks() -> None:
    spec = with_names("only_similar: [smith, smyth]", TEXT.replace("mode: open", "mode: block_keyed"))
    columns = {f.name: [None] * 3 for f in spec.fields} | {"surname": ["smith", "smyth", "smithe"]}
    made = encode_records(series(columns), spec, SEED, 1, shuffle=file_order)
    smith, smyth, code = signed(made.sets[0], "surname")
    assert agreement(smith, smyth) == pytest.approx(0.75, abs=0.09)
    assert agreement(smith, code) == pytest.approx(0.5, abs=0.09)


def test_nothing_of_a_salt_is_in_what_is_sent_but_signatures() -> None:
    """Salts join nothing by themselves: signatures of two fields under one salt are as unrelated as any."""
    spec = load_specification(
        TEXT.replace("key_domain: surname", "salt: {field: born, part: year}").replace(
            "kind: name, bits: 1024}", "kind: name, bits: 1024, salt: {field: born, part: year}}"
        )
    )
    part = encoded(spec, surname=["smith", "jones"], given=["smith", "jones"], born=["19791107", "19801107"])
    for first, second in product(signed(part, "surname"), signed(part, "given")):
        assert agreement(first, second) == pytest.approx(0.5, abs=0.09)
    assert np.all(np.array(list(part.blocks["name"])) != 0)


# A contribution in the approved suite: by approved algorithms alone, and with nothing that one in the default has.

SUITES_SEED, NOISE = Seed(bytes(range(32))), NoiseKey(bytes(range(32)))
MODES = {"open": "quality: {decoys: 100}\n", "block_keyed": "padding: powers_of_two\nquality: {decoys: 100}\n"}


def specification(mode: str, suite: str) -> Specification:
    # Signatures of 128 bits are one block of AES, so that each call of the cipher is a whole CMAC.
    return load_specification(
        heading("suites", mode)
        + f"""
cryptography: {suite}
fields:
  - {{name: surname, kind: name, bits: 128, randomised_response: 0.05}}
  - {{name: address, kind: text, tokens: words, bits: 128}}
  - {{name: born, kind: date, date: {{order: ymd}}, bits: 128}}
  - {{name: sex, kind: category, bits: 128}}
blocking:
  - {{name: born, keys: [{{field: born, part: year}}]}}
  - {{name: sex, keys: [{{field: sex}}]}}
variables:
  - {{name: region, holder: alice, categories: [n, e, s, w], role: key}}
{MODES[mode]}retention: {{uploads_days: 1, results_days: 1, maps_days: 1}}
"""
    )


def contribution(mode: str, suite: str) -> Encoded:
    spec, n = specification(mode, suite), 200
    columns = {
        "surname": [f"name{i % 13}" for i in range(n)],
        "address": [f"{i} main st" for i in range(n)],
        "born": [f"19{50 + i % 7}0101" for i in range(n)],
        "sex": ["f" if i % 3 else "m" for i in range(n)],
    }
    places = pl.Series([i % 4 for i in range(n)], dtype=pl.Int32)
    extended = with_decoys(series(columns), spec, NOISE)
    return encode_records(extended, spec, SUITES_SEED, 1, noise=NOISE, variables={"region": places}, decoys=spec.decoys)


def sent(encoded: Encoded) -> set[int]:
    """All signatures and keyed digests, as numbers."""
    tables: list[NDArray[Any]] = [field.signatures for part in encoded.sets for field in part.fields.values()]
    tables += [keys for part in encoded.sets for keys in part.blocks.values()]
    return set(np.concatenate([table.ravel() for table in tables]).tolist()) - {0}


@pytest.mark.parametrize("mode", MODES)
def test_the_approved_suite_uses_neither_blake_nor_plain_blocks(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    encrypt, called = bulk._encrypt, []

    def macs_only(key: bytes, array: NDArray[np.uint64], added: NDArray[np.uint64] | None = None) -> None:
        assert added is not None
        called.append(array.size)
        encrypt(key, array, added)

    monkeypatch.setattr(bulk, "_encrypt", macs_only)
    monkeypatch.setattr(hashlib, "blake2b", None)
    assert sent(contribution(mode, "approved"))
    assert called
    with pytest.raises((AssertionError, TypeError)):
        contribution(mode, "default")


@pytest.mark.parametrize("mode", MODES)
def test_contributions_of_two_suites_have_nothing_in_common(mode: str) -> None:
    default, approved = (contribution(mode, suite) for suite in ("default", "approved"))
    assert not sent(default) & sent(approved)
    assert sent(approved) == sent(contribution(mode, "approved"))
    assert [part.n_rows for part in default.sets if part.fields] == [
        part.n_rows for part in approved.sets if part.fields
    ]


def test_a_specification_that_names_no_suite_is_as_it_was() -> None:
    named = specification("open", "default")
    unnamed = Specification.model_validate(named.model_dump(exclude={"cryptography"}))
    assert unnamed == named
    for digest in (encoding_digest, specification_digest):
        assert digest(unnamed) == digest(named) != digest(specification("open", "approved"))
