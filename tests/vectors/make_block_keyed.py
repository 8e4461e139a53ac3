"""Make `block_keyed.json`, and `block_keyed_approved.json` in the approved suite: what a few records become.

What block-keyed mode sends for them, frozen; made by the plain definitions alone. Run from the checkout's root, and
only ever after a deliberate change of format (which is a new version of the keys, `common.keys.derivation`), with

    python -m tests.vectors.make_block_keyed

A change of one byte in the file means that two custodians with different versions would link nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

from gemel.common.keys.derivation import Purpose, Seed, derive, derive_key
from gemel.common.keys.suite import Suite
from tests.custodian.encoding.minhash.definition import hidden, signature, words
from tests.custodian.tokens.definition import tokens

PATHS = {
    Suite.DEFAULT: Path(__file__).with_name("block_keyed.json"),
    Suite.APPROVED: Path(__file__).with_name("block_keyed_approved.json"),
}

SEED = bytes(range(32))
PROJECT = "golden"
DIGEST = bytes(range(100, 132))
EPOCH = 7
BITS = 64
DOMAINS = {"surname": "name", "given": "name", "born": "born", "sex": "sex"}
TOKENS = {"surname": "bigrams", "given": "bigrams", "born": "date_parts", "sex": "value"}
SPECIFICATION = """
version: 1
project: golden
mode: block_keyed
custodians: {alice: {identifier: id}, bob: {identifier: id}}
fields:
  - {name: surname, kind: name, bits: 64, key_domain: name}
  - {name: given, kind: name, bits: 64, key_domain: name}
  - {name: born, kind: date, date: {order: ymd}, bits: 64}
  - {name: sex, kind: category, bits: 64}
blocking:
  - {name: born, keys: [{field: born}]}
  - {name: name, keys: [{field: surname, prefix: 3}, {field: born, part: year}], split: sex}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
RECORDS: list[dict[str, str | None]] = [
    {"surname": "smith", "given": "john", "born": "19151107", "sex": "m"},
    {"surname": "smith", "given": "smith", "born": "19150102", "sex": "m"},
    {"surname": "smyth", "given": None, "born": "19151107", "sex": "f"},
    {"surname": "smiley", "given": "x", "born": "19150102", "sex": "m"},
    {"surname": None, "given": "john", "born": "19151107", "sex": None},
    {"surname": "smith", "given": "john", "born": None, "sex": "m"},
]


def key_texts(record: dict[str, str | None]) -> dict[str, str | None]:
    """A record's blocking key under each rule, every part behind its length."""
    surname, born, sex = record["surname"], record["born"], record["sex"]
    together = None if surname is None or born is None or sex is None else [surname[:3], born[:4], sex]
    return {
        "born": None if born is None else f"{len(born)}:{born}",
        "name": None if together is None else "".join(f"{len(part)}:{part}" for part in together),
    }


def _digest(text: str, key: bytes, suite: Suite) -> bytes:
    if suite is Suite.APPROVED:
        return hmac.digest(key, text.encode(), "sha256")[:8]
    return hashlib.blake2b(text.encode(), key=key, digest_size=8).digest()


def vectors(suite: Suite) -> dict[str, Any]:
    """Everything the file of a suite holds."""
    seed = Seed(SEED)

    def signed(record: dict[str, str | None], purpose: Purpose, rule: str, block: bytes) -> dict[str, str | None]:
        made: dict[str, str | None] = {}
        for name, domain in DOMAINS.items():
            value = record[name]
            keys = derive(seed, PROJECT, purpose, DIGEST, domain, rule, EPOCH, suite)
            token_key = derive_key(seed, PROJECT, Purpose.TOKEN, DIGEST, domain, "", EPOCH)
            codes = [] if value is None else tokens(value, TOKENS[name], token_key, suite=suite)  # type: ignore[arg-type]
            (word,) = words(signature(codes, keys, BITS, block)) if codes else [None]
            made[name] = None if word is None else f"{word:016x}"
        return made

    sets: dict[str, list[dict[str, Any] | None]] = {"born": [], "name": []}
    for record in RECORDS:
        texts = key_texts(record)
        digests = {}
        for rule, text in texts.items():
            key = derive_key(seed, PROJECT, Purpose.BLOCKING, DIGEST, "", rule, EPOCH)
            digests[rule] = text and _digest(text, key, suite)
        for rule, digest in digests.items():
            if not digest:
                sets[rule].append(None)
                continue
            blocks = {rule: f"{int.from_bytes(digest, 'little'):016x}"}
            other = "born" if rule == "name" else "name"
            key = derive_key(seed, PROJECT, Purpose.TAG, DIGEST, other, rule, EPOCH)
            theirs = int.from_bytes(digests[other] or b"", "little")
            tag = hidden(theirs, key, digest, suite) if theirs else bytes(8)
            blocks[other] = f"{int.from_bytes(tag, 'little'):016x}"
            sets[rule].append({"blocks": blocks, "signatures": signed(record, Purpose.SIGNATURE, rule, digest)})
    samples = {
        group: [signed(record, Purpose.SAMPLE, f"group {group}", bytes(8)) for record in RECORDS]
        for group in (0, 1, 249)
    }
    return {"maker": "tests/vectors/make_block_keyed.py", "sets": sets, "samples": samples}


def written(suite: Suite) -> str:
    """The file's text."""
    return json.dumps(vectors(suite), indent=1, ensure_ascii=True) + "\n"


if __name__ == "__main__":
    for suite, path in PATHS.items():
        path.write_text(written(suite), encoding="ascii")
