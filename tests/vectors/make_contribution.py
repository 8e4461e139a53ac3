"""Make `contribution.json`: the bytes of a small contribution, from uncleaned records to the body of an upload.

Run from the checkout's root, and only ever after a deliberate change of format, with

    python tests/vectors/make_contribution.py

A change of one byte means that custodians with different versions would link nothing.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from pathlib import Path
from typing import Any

import polars as pl

from gemel.common.keys.derivation import Seed
from gemel.common.parties import Side
from gemel.common.signatures.payload import to_bytes
from gemel.common.specification import encoding_digest, load_specification
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.columns import file_order
from gemel.custodian.encoding.records import encode_records

PATH = Path(__file__).with_name("contribution.json")

SEED = bytes(range(32))
EPOCH = 1
SPECIFICATION = """version: 1
project: golden
mode: open
custodians: {alice: {identifier: id}, bob: {identifier: id}}
fields:
  - {name: surname, kind: name, bits: 128}
  - {name: born, kind: date, date: {order: dmy}, bits: 64}
  - {name: address, kind: text, tokens: words, bits: 64}
  - {name: postcode, kind: code, bits: 64}
  - {name: sex, kind: category}
blocking:
  - {name: born, keys: [{field: born}]}
  - {name: name-year, keys: [{field: surname, prefix: 3}, {field: born, part: year}]}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
RECORDS: dict[str, list[str | None]] = {
    "id": ["1", "2", "3", "4", "5"],
    "surname": ["O'Brien", "Mu\u0308ller", "M\u00fcller", "\U0001d4d0nn", None],
    "born": ["7/11/1915", "07.11.1915", "1915", None, "29/02/2000"],
    "address": ["12 Main St", "main st, 12", "Stra\u00dfe 5", "", None],
    "postcode": ["SW1A 1AA", "sw1a1aa", "0123", "n/a", "9"],
    "sex": ["F", "f", "M", None, "m"],
}


def vector() -> dict[str, Any]:
    """Everything the file holds."""
    specification = load_specification(SPECIFICATION)
    cleaned = clean(pl.DataFrame(RECORDS), specification, Side.ALICE)
    part = encode_records(cleaned.columns, specification, Seed(SEED), EPOCH, shuffle=file_order).sets[0]
    payload = b"".join(to_bytes([part]))
    return {
        "maker": "tests/vectors/make_contribution.py",
        "unicode": unicodedata.unidata_version,
        "seed": SEED.hex(),
        "epoch": EPOCH,
        "specification": SPECIFICATION,
        "encoding_digest": encoding_digest(specification).hex(),
        "records": RECORDS,
        "sha256": hashlib.sha256(payload).hexdigest(),
        "payload": payload.hex(),
    }


if __name__ == "__main__":
    PATH.write_text(json.dumps(vector(), indent=1, ensure_ascii=True) + "\n", encoding="ascii")
