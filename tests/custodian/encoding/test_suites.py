"""A contribution in the approved suite: by approved algorithms alone, and with nothing that one in the default has."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from gemel.common.keys import bulk
from gemel.common.keys.derivation import Seed
from gemel.common.keys.noise import NoiseKey
from gemel.common.specification import Specification, encoding_digest, load_specification, specification_digest
from gemel.custodian.encoding.decoys import with_decoys
from gemel.custodian.encoding.records import Encoded, encode_records
from tests.specifications import heading

SEED, NOISE = Seed(bytes(range(32))), NoiseKey(bytes(range(32)))
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
        "surname": pl.Series([f"name{i % 13}" for i in range(n)]),
        "address": pl.Series([f"{i} main st" for i in range(n)]),
        "born": pl.Series([f"19{50 + i % 7}0101" for i in range(n)]),
        "sex": pl.Series(["f" if i % 3 else "m" for i in range(n)]),
    }
    places = pl.Series([i % 4 for i in range(n)], dtype=pl.Int32)
    extended = with_decoys(columns, spec, NOISE)
    return encode_records(extended, spec, SEED, 1, noise=NOISE, variables={"region": places}, decoys=spec.decoys)


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
    assert (
        len({encoding_digest(unnamed), encoding_digest(named), encoding_digest(specification("open", "approved"))}) == 2
    )
    digests = [specification_digest(spec) for spec in (unnamed, named, specification("open", "approved"))]
    assert digests[0] == digests[1] != digests[2]
