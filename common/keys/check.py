"""Two checks before any record leaves a custodian: both hold the same seed, and both sign alike.

The *key-check value* is eight derived bytes. It differs when the seeds differ, and reveals nothing else; it may be
shown, logged and compared by anyone.

The *canary digest* is a MAC over the encoded signatures of `CANARY_RECORDS`, public test values put through every
field of the specification. It differs when anything between a value and its signature differs: another normaliser,
another Unicode version, another tokenisation, another byte order. Being keyed, it reveals nothing of the signatures to
Carole, and being over public values, it reveals nothing of any person.

Neither detects a wrong column or a wrong date order in a file; a custodian's profile shows these.
"""

from __future__ import annotations

import hmac
import tomllib
from collections.abc import Iterable
from pathlib import Path

from gemel.common.keys.derivation import Purpose, Seed, derive_key
from gemel.common.keys.framing import frame

CHECK_BYTES = 8
CANARY_BYTES = 32
PART_BYTES = 16

CANARY_RECORDS: tuple[str | None, ...] = (
    None,
    *tomllib.loads(Path(__file__).with_name("canary_records.toml").read_text(encoding="utf-8"))["records"],
    # Length: a word longer than any key, a line of many words, many marks on one letter.
    "a" * 300,
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
    " ".join(f"word{number}" for number in range(100)),
    "e" + "\u0301" * 40,
)
"""Public test values. Each is one record, with the value in every field; ``None`` is a missing value.

The list is part of the canary digest: changing it means that both custodians must have the changed one.
"""


def key_check_value(seed: Seed, project: str, encoding_digest: bytes, epoch: int) -> bytes:
    """Eight bytes that are the same for the same seed, project, encoding and epoch, and may be shown."""
    return derive_key(seed, project, Purpose.CHECK, encoding_digest, epoch=epoch)[:CHECK_BYTES]


def canary_digest(seed: Seed, project: str, encoding_digest: bytes, epoch: int, encoded: bytes) -> bytes:
    """MAC over the signatures of the test records: HMAC-SHA256, 32 bytes.

    `encoded` are `CANARY_RECORDS` as the custodian's encoder encodes them with this seed, in the layout of an upload
    and in the order of the records: every field's signatures.
    """
    key = derive_key(seed, project, Purpose.CANARY, encoding_digest, epoch=epoch)
    return hmac.digest(key, frame(b"gemel canary 1", encoded), "sha256")


def canary_part_names(fields: Iterable[str]) -> list[str]:
    """The parts of the canary that are compared on their own, where the digests differ, in the order of the wire."""
    return [*(f"the cleaning of {field}" for field in fields), "the signatures", "the codes of variables"]


def canary_part(seed: Seed, project: str, encoding_digest: bytes, epoch: int, name: str, content: bytes) -> bytes:
    """MAC over one part of the canary, 16 bytes: it shows where two installations differ, and nothing else."""
    key = derive_key(seed, project, Purpose.CANARY, encoding_digest, epoch=epoch)
    return hmac.digest(key, frame(b"gemel canary part 1", name.encode(), content), "sha256")[:PART_BYTES]
