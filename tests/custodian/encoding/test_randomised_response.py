"""Randomised response in an upload: private noise, the same in every upload, and a canonical set whatever it does."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from gemel.common.errors import GemelError
from gemel.common.keys.derivation import Purpose, Seed, derive, derive_key
from gemel.common.keys.noise import NoiseKey
from gemel.common.signatures.layout import SAMPLES
from gemel.common.signatures.payload import from_bytes, to_bytes
from gemel.common.signatures.signature_sets import layout_of
from gemel.common.specification import Specification, encoding_digest, load_specification
from gemel.custodian.encoding.columns import file_order
from gemel.custodian.encoding.minhash import signatures
from gemel.custodian.encoding.records import encode_records
from gemel.custodian.tokens import tokenise
from tests.custodian.encoding.encoded_rows import rows_of, series
from tests.custodian.encoding.minhash.definition import flips, signature, words
from tests.custodian.tokens.definition import tokens
from tests.specifications import heading

SEED = Seed(bytes(range(32)))
OURS, THEIRS = NoiseKey(bytes(range(32))), NoiseKey(bytes(range(1, 33)))
TEXT = (
    heading("encoding")
    + """
fields:
  - {name: surname, kind: name, bits: 192, randomised_response: 0.1}
  - {name: given, kind: name, bits: 192, randomised_response: 0.1, key_domain: surname}
  - {name: sex, kind: category}
blocking:
  - {name: name, keys: [{field: surname, prefix: 1}]}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
)
OPEN = load_specification(TEXT)
KEYED = load_specification(TEXT.replace("mode: open", "mode: block_keyed"))
NAMES = ["smith", "smyth", "smithers", "jones", "jonas", "brown", "braun", None]


def people(n: int = 40, seed: int = 1) -> dict[str, pl.Series]:
    rng = np.random.default_rng(seed)
    columns = {name: [NAMES[i] for i in rng.integers(0, len(NAMES), n)] for name in ("surname", "given")}
    columns["sex"] = [["f", "m", None][i] for i in rng.integers(0, 3, n)]
    return series(columns)


@pytest.mark.parametrize("spec", [OPEN, KEYED], ids=["open", "block_keyed"])
def test_each_upload_has_the_same_noise_and_another_custodian_other_noise(spec: Specification) -> None:
    def sent(columns: dict[str, pl.Series], noise: NoiseKey, name: str) -> set[bytes | None]:
        made = encode_records(columns, spec, SEED, 1, noise=noise)
        for part in made.sets:
            part.validate()
        assert from_bytes(layout_of(made.sets, made.records), b"".join(to_bytes(made.sets)))
        # Of more records other ones are sampled.
        return {row for part in made.sets if part.rule != SAMPLES for row in rows_of(part, name)} - {None}

    columns = people()
    # Rows that are repeated, shuffled again and sent beside others: the same signatures, bit for bit.
    more = {name: pl.concat([column, column[:7], people(60, 2)[name]]) for name, column in columns.items()}
    for name in ("surname", "given"):
        assert len(sent(columns, OURS, name)) >= len(NAMES) - 1
        assert sent(columns, OURS, name) <= sent(more, OURS, name)
        assert not sent(columns, OURS, name) & sent(columns, THEIRS, name)
    assert sent(columns, OURS, "sex") == sent(columns, THEIRS, "sex")


def test_every_signature_is_that_of_the_definitions() -> None:
    columns = people()
    part = encode_records(columns, OPEN, SEED, 1, noise=OURS, shuffle=file_order).sets[0]
    digest = encoding_digest(OPEN)
    keys = derive(SEED, OPEN.project, Purpose.SIGNATURE, digest, "surname")
    token_key = derive_key(SEED, OPEN.project, Purpose.TOKEN, digest, "surname")
    noise = OURS.derive(OPEN.project, "surname")
    for name in ("surname", "given"):
        for value, found in zip(columns[name].to_list(), rows_of(part, name), strict=True):
            if value is None:
                assert found is None
                continue
            plain = words(signature(tokens(value, "bigrams", token_key), keys, 192))
            change = words(flips(plain, noise, 0.1))
            expected = np.array([a ^ b for a, b in zip(plain, change, strict=True)], dtype=np.uint64)
            assert found == expected.tobytes()


def test_the_sample_of_chance_agreement_is_randomised_too() -> None:
    columns = people()
    quiet = load_specification(
        TEXT.replace("mode: open", "mode: block_keyed").replace(", randomised_response: 0.1", "")
    )
    assert encoding_digest(quiet) != encoding_digest(KEYED)
    ours, theirs = (encode_records(columns, KEYED, SEED, 1, noise=key, shuffle=file_order) for key in (OURS, THEIRS))
    (sample_a,), (sample_b,) = ([part for part in made.sets if part.rule == SAMPLES] for made in (ours, theirs))
    pairs = [(a, b) for a, b in zip(rows_of(sample_a, "surname"), rows_of(sample_b, "surname"), strict=True) if a and b]
    distance = np.mean([np.bitwise_count(np.frombuffer(a, "<u8") ^ np.frombuffer(b, "<u8")).sum() for a, b in pairs])
    # The same value on both sides: 2r(1 - r) of 192 bits disagree, over seven values' noise.
    assert distance == pytest.approx(192 * 0.18, abs=5 * np.sqrt(192 * 0.18 * 0.82 / 7))


def test_signatures_that_noise_makes_equal_are_one() -> None:
    """Long values that differ in a letter have signatures of 64 bits that differ in a bit or two, which noise joins."""
    spec = load_specification(
        TEXT.replace("bits: 192, randomised_response: 0.1", "bits: 64, randomised_response: 0.01")
    )
    rng = np.random.default_rng(5)
    base = "".join(chr(97 + message) for message in rng.integers(0, 26, 120))
    values = [
        base[:at] + message + base[at + 1 :] for at in range(1, 119) for message in "aeiou" if base[at] != message
    ]
    column = pl.Series(values, dtype=pl.String)
    columns = {"surname": column, "given": column, "sex": pl.Series([None] * len(values), dtype=pl.String)}
    unlike, secrets = 0, range(5)
    for secret in secrets:
        made = encode_records(columns, spec, SEED, 1, noise=NoiseKey(bytes([secret] * 32)), shuffle=file_order)
        (part,) = made.sets
        part.validate()
        assert from_bytes(layout_of(made.sets), b"".join(to_bytes(made.sets)))
        unlike += part.fields["surname"].n_distinct
    plain = distinct_without_noise(columns, spec)
    assert unlike < len(secrets) * plain


def distinct_without_noise(columns: dict[str, pl.Series], spec: Specification) -> int:
    digest = encoding_digest(spec)
    keys = derive(SEED, spec.project, Purpose.SIGNATURE, digest, "surname")
    token_key = derive_key(SEED, spec.project, Purpose.TOKEN, digest, "surname")
    return len(np.unique(signatures(tokenise(columns["surname"], "bigrams", token_key), keys, 64)))


def test_randomised_response_without_a_noise_key_is_refused() -> None:
    for spec in (OPEN, KEYED):
        with pytest.raises(GemelError, match="needs the custodian's noise key"):
            encode_records(people(), spec, SEED, 1)
