"""The canary: public test values through this custodian's whole encoder, before any record goes through it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from gemel.common.keys import CANARY_RECORDS, Seed, canary_digest
from gemel.common.keys.check import canary_part, canary_part_names
from gemel.common.parties import Side
from gemel.common.signatures import to_bytes
from gemel.common.specification import Specification, canonical_json
from gemel.custodian.cleaning import clean
from gemel.custodian.cleaning.similar_values import similar_values
from gemel.custodian.encoding.categories import relabelling
from gemel.custodian.encoding.columns import file_order
from gemel.custodian.encoding.records import encode_records


@dataclass(frozen=True)
class Canary:
    """The canary of one installation.

    Attributes
    ----------
    digest
        Over everything, 32 bytes; two custodians must have the same.
    parts
        Over each part, 16 bytes, in the order of `canary_part_names`: where digests differ, these show why.
    """

    digest: bytes
    parts: tuple[bytes, ...]


def canary(spec: Specification, encoding: bytes, side: Side, seed: Seed, epoch: int) -> Canary:
    """The canary of this installation for a specification and a seed.

    Every canary record has its value in every field, whatever the field's columns are called and however many there are
    on this side, so each field's cleaning and tokens process all of them. The rows stay in their order: the custodians'
    different shuffles must not enter the digest. Of the variables, both give the relabelling of all categories, whoever
    holds them.

    Salts and lists of similar values would leave most test values unsigned, or cut into no tokens. So where there are
    any, all is signed without them first, and then with them and a salt in every row; the lists go in as they are
    cleaned.
    """
    values = pl.Series(list(CANARY_RECORDS), dtype=pl.String)
    frame = pl.DataFrame(dict.fromkeys((field.name for field in spec.fields), values))
    # Signed in every mode: signatures show whether both clean alike, and have room for the longest test value.
    # Columns and how they are joined differ on purpose. So do categorisations of own values, which are part of the
    # encoding digest; so is the probability of randomised response, while its noise is each custodian's own.
    own = {"column": None, "columns": None, "categorisation": (), "randomised_response": 0.0}
    fields = tuple(field.model_copy(update=own) for field in spec.fields)
    # In mode block_keyed each rule's blocks, tags and signatures are made, and the samples.
    mode = "block_keyed" if spec.in_blocks else "open"
    # Dummies are random, and differ between custodians.
    signed = spec.model_copy(update={"mode": mode, "variables": (), "fields": fields, "padding": None})
    columns = clean(frame, signed, side).columns

    def signatures(of: Specification, values: Mapping[str, pl.Series]) -> list[bytes]:
        sets = encode_records(values, of, seed, epoch, shuffle=file_order, threads=1).sets
        return [bytes(part) for part in to_bytes(sets)]

    plain = tuple(field.model_copy(update={"salt": None, "only_similar": ()}) for field in fields)
    payload = signatures(signed.model_copy(update={"fields": plain}), columns)
    if plain != fields:
        salts = {field.salt.field for field in fields if field.salt is not None}
        filled = {name: _filled(column) if name in salts else column for name, column in columns.items()}
        listed = {field.name: sorted(similar_values(field) or ()) for field in fields}
        payload += [*signatures(signed, filled), canonical_json(listed)]
    relabelled = [
        relabelling(
            variable, spec.project, seed, encoding, epoch, spec.suite, spec.coarsenings(variable.name)
        ).tobytes()
        for variable in spec.variables
    ]
    cleaned = [canonical_json(columns[field.name].cast(pl.String).to_list()) for field in spec.fields]
    contents = [*cleaned, b"".join(payload), b"".join(relabelled)]
    return Canary(
        canary_digest(seed, spec.project, encoding, epoch, b"".join([*payload, *relabelled])),
        tuple(
            canary_part(seed, spec.project, encoding, epoch, name, content)
            for name, content in zip(canary_part_names(field.name for field in spec.fields), contents, strict=True)
        ),
    )


def _filled(column: pl.Series) -> pl.Series:
    """The column with a value in every row."""
    return column.fill_null(strategy="forward").fill_null(strategy="backward")
