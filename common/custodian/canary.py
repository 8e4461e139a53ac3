"""The canary: public test values through this custodian's whole encoder, before any record goes through it."""

from __future__ import annotations

import polars as pl

from common.cleaning import clean
from common.custodian.desk import columns_of
from common.encoding import to_bytes
from common.encoding.categories import relabelling
from common.encoding.encode import file_order
from common.encoding.records import encode_records
from common.keys import CANARY_RECORDS, Seed, canary_digest
from common.parties import Side
from common.specification import Specification


def canary(spec: Specification, encoding: bytes, side: Side, seed: Seed, epoch: int) -> bytes:
    """The canary digest of this installation for a specification and a seed; 32 bytes.

    Every canary record has its value in every column, so each field's cleaning and tokens meet all of them. The rows
    stay in their order: that both custodians shuffle differently must not show. Of the variables, both give the
    relabelling of all categories, whoever holds them.
    """
    values = pl.Series(list(CANARY_RECORDS), dtype=pl.String)
    frame = pl.DataFrame(dict.fromkeys(columns_of(spec, side), values))
    # Signed in every mode: signatures tell whether both clean alike, and have room for the longest test value.
    # What each makes of its own values differs on purpose, and is part of the encoding digest; so is how many bits are
    # flipped, while the noise that flips them is each custodian's own.
    fields = tuple(field.model_copy(update={"categorisation": (), "flip": 0.0}) for field in spec.fields)
    # In mode block_keyed each rule's blocks, tags and signatures are made, and the samples.
    mode = "block_keyed" if spec.mode == "block_keyed" else "open"
    signed = spec.model_copy(update={"mode": mode, "variables": (), "fields": fields})
    encoded = encode_records(clean(frame, signed, side).columns, signed, seed, epoch, shuffle=file_order, threads=1)
    relabelled = [relabelling(variable, spec.project, seed, encoding, epoch).tobytes() for variable in spec.variables]
    return canary_digest(seed, spec.project, encoding, epoch, b"".join([*to_bytes(encoded.sets), *relabelled]))
