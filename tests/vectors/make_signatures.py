"""Make `signatures.json` and, in the approved suite, `signatures_approved.json`: frozen keys, codes and signatures.

The values are made by the plain definitions alone. Run from the checkout's root, and only ever after a
deliberate change of format (which is a new version of the keys, `common.keys.derivation`), with

    python -m tests.vectors.make_signatures

A change of one byte in the file means that two custodians with different versions would link nothing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gemel.common.keys.derivation import Purpose, Seed, derive, derive_key
from gemel.common.keys.suite import Suite
from tests.custodian.encoding.minhash.definition import signature, words
from tests.custodian.tokens.definition import tokens

PATHS = {
    Suite.DEFAULT: Path(__file__).with_name("signatures.json"),
    Suite.APPROVED: Path(__file__).with_name("signatures_approved.json"),
}

SEED = bytes(range(32))
PROJECT = "golden"
DIGEST = bytes(range(100, 132))
EPOCH = 7
BITS = 192

VALUES = {
    "bigrams": ["john", "jon", "a", "aaaa", "josé", "jose\u0301", "\U0001d4d0\U0001f600", "o brien"],
    "positional_bigrams": ["john", "abab", "\U0001d4d0b"],
    "positional_characters": ["2611", "sw1a1aa", "٣"],
    "date_parts": ["19151107", "19150000", "00001107"],
    "words": ["12 main st", "st main 12", "straße"],
    "value": ["f", "female", "straße"],
}
BLOCKS = ["0000000000000000", "0123456789abcdef"]


def vectors(suite: Suite) -> dict[str, Any]:
    """Everything the file of a suite holds."""
    seed = Seed(SEED)
    token_key = derive_key(seed, PROJECT, Purpose.TOKEN, DIGEST, "surname", "", EPOCH)
    keys = derive(seed, PROJECT, Purpose.SIGNATURE, DIGEST, "surname", "", EPOCH, suite)
    other = derive(seed, PROJECT, Purpose.SIGNATURE, DIGEST, "surname", "born", EPOCH)
    made = []
    for tokenisation, values in VALUES.items():
        for value in values:
            codes = sorted(tokens(value, tokenisation, token_key, suite=suite))
            signed = {
                block: "".join(
                    word.to_bytes(8, "little").hex()
                    for word in words(signature(codes, keys, BITS, bytes.fromhex(block)))
                )
                for block in BLOCKS
            }
            made.append(
                {
                    "tokenisation": tokenisation,
                    "value": value,
                    "codes": [f"{code:016x}" for code in codes],
                    "signatures": signed,
                }
            )
    return {
        "maker": "tests/vectors/make_signatures.py",
        "seed": SEED.hex(),
        "project": PROJECT,
        "encoding_digest": DIGEST.hex(),
        "domain": "surname",
        "epoch": EPOCH,
        "bits": BITS,
        "keys": {
            "token": token_key.hex(),
            "k1": keys.k1.hex(),
            "k2": keys.k2.hex(),
            "k1 of rule born": other.k1.hex(),
            "k2 of rule born": other.k2.hex(),
        },
        "values": made,
    }


def written(suite: Suite) -> str:
    """The file's text."""
    return json.dumps(vectors(suite), indent=1, ensure_ascii=True) + "\n"


if __name__ == "__main__":
    for suite, path in PATHS.items():
        path.write_text(written(suite), encoding="ascii")
