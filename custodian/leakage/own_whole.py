"""The gate where one key serves the whole file: its fields, what they disclose of each other, its variables' codes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from numpy.random import Generator
from numpy.typing import NDArray

from gemel.common.arrays import I64, Columns
from gemel.common.keys.noise import AssessmentKeys
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.specification import FieldSpec, Specification, encoding_digest
from gemel.common.specification.model.protection import partitions
from gemel.custodian.cleaning.parts import listed_in, salt_text, similar_values
from gemel.custodian.drawn_records import DrawnRecords
from gemel.custodian.encoding.categories import Relabelling
from gemel.custodian.encoding.columns import file_order
from gemel.custodian.encoding.records import encode_records
from gemel.custodian.leakage.across import ReadField, code_recovery
from gemel.custodian.leakage.held_back import MAX_VALUES, listed_alone, salts_attacked, without_undone_salts
from gemel.custodian.leakage.recovery import UNKNOWN, Recovery, score
from gemel.custodian.leakage.similarity_graph import similarity_graph_alignment
from gemel.custodian.leakage.view import PUBLIC_KEY, FieldView, PublicValues, frequency_alignment
from gemel.custodian.leakage_report import Finding
from gemel.custodian.tokens import tokenise

DICTIONARY = 6000
"""Public values of a field, the commonest ones."""
PER_CLASS = 200
"""Rows drawn of every size of block and rule."""


def _counted(column: pl.Series) -> pl.DataFrame:
    """How many rows have each value, by value: polars counts in no order of its own."""
    return column.alias("value").drop_nulls().value_counts().sort("value")


def public_values(column: pl.Series, field: FieldSpec, rng: Generator) -> PublicValues | None:
    """The dictionary of a field: the file's own values, with counts redrawn; None if no row has a value."""
    return counted_values(_counted(column), field, rng)


def dictionaries(
    columns: Columns, spec: Specification, drawn: DrawnRecords | None, rng: Generator
) -> dict[str, PublicValues | None]:
    """The dictionary of each field (`public_values`), of a file that is there or of one of which records are drawn."""
    own = {field.name: _counted(columns[field.name]) for field in spec.fields} if drawn is None else drawn.counts
    return {field.name: counted_values(own[field.name], field, rng) for field in spec.fields}


def counted_values(counted: pl.DataFrame, field: FieldSpec, rng: Generator) -> PublicValues | None:
    """As `public_values`, of values, by value, and their counts."""
    counts = counted.get_column("count").to_numpy()
    redrawn = rng.poisson(counts) + 0.5
    kept = np.argsort(-redrawn, kind="stable")[:DICTIONARY]
    return _with_tokens(counted.get_column(counted.columns[0])[kept].to_list(), redrawn[kept], field)


def _with_tokens(values: list[str], counts: NDArray[np.floating[Any]], field: FieldSpec) -> PublicValues | None:
    some = tokenise(values, field.tokens, PUBLIC_KEY).counts > 0 if values else np.empty(0, dtype=bool)
    kept = [value for value, has in zip(values, some, strict=True) if has]
    return PublicValues(kept, counts[some], field.tokens, similar_values(field)) if kept else None


def clear_values(column: pl.Series, field: FieldSpec) -> tuple[PublicValues, I64] | None:
    """The values of a field that some records have, and each record's among them (-1: missing); None without any."""
    counted = _counted(column)
    public = _with_tokens(counted.get_column("value").to_list(), np.ones(counted.height), field)
    if public is None:
        return None
    return public, public.places(column.to_list())


def truth_of(part: SignatureSet, field: str, column: pl.Series, rows: I64, public: PublicValues) -> I64:
    """Public value that each signature of a set truly is, by the rows of the file that its rows are."""
    codes = part.fields[field].codes
    truth = np.full(part.fields[field].n_distinct, UNKNOWN, dtype=np.int64)
    here = codes >= 0
    truth[codes[here]] = public.places(column.to_list())[rows[here]]
    return truth


def finding(found: Recovery, rule: str = "") -> Finding:
    """A recovery as the gate reports it; of a blocking rule, or of the whole file."""
    shares = found.records, found.chance, found.attainable_records
    return Finding(found.field, rule, found.attack, *shares, error=found.error)


SALTED = 4000
"""Records drawn of a salted field, in whole salts: of a few salts alone, now and then one is read by luck."""


def field_by_field(
    columns: Columns, spec: Specification, keys: AssessmentKeys, rng: Generator
) -> Iterator[tuple[ReadField, list[Finding]]]:
    """Every field attacked by itself, where one key serves the whole file, or one salt of a field."""
    noise = keys.throw_away_noise("whole file")
    part = encode_records(columns, spec, keys.throw_away_seed("whole file"), 1, noise=noise, shuffle=file_order).sets[0]
    bare = without_undone_salts(spec)
    joined = part
    if bare:
        seed = keys.throw_away_seed("salts joined")
        joined = encode_records(columns, bare, seed, 1, noise=noise, shuffle=file_order).sets[0]
    rows = np.arange(part.n_rows)
    for field in spec.fields:
        column = columns[field.name]
        public = public_values(column, field, rng)
        if public is None:
            continue
        found: list[Finding] = []
        attacked = {"": part}
        if spec.rules_undoing_salt(field):
            attacked[", its salts joined by a blocking rule"] = joined
        for how, seen in attacked.items():
            view = FieldView.of(seen.fields[field.name], field.randomised_response)
            truth = truth_of(seen, field.name, column, rows, public)
            guesses = {
                "counts alone": frequency_alignment(view, public),
                "counts and similarities": similarity_graph_alignment(view, public, maximum=MAX_VALUES),
            }
            listed = listed_in(column, field)
            if listed is not None:
                codes = seen.fields[field.name].codes
                is_listed = np.zeros(view.n_values, dtype=bool)
                is_listed[codes[(codes >= 0) & listed.fill_null(value=False).to_numpy()]] = True
                guesses["listed values by themselves"] = listed_alone(view, public, is_listed, MAX_VALUES)
            for attack, guessed in guesses.items():
                found.append(finding(score(attack + how, field.name, guessed, truth, view.counts, 0)))
        # Where salts are joined, that came last, and is the most that is known of a row.
        held = seen.fields[field.name].codes
        read = ReadField(field.name, held, truth, guesses["counts and similarities"], public.shares)
        salt = salt_text(columns, spec, field)
        if salt is not None:
            truth = truth_of(part, field.name, column, rows, public)
            found += map(finding, salts_attacked(part, field, salt, public, truth, rng, SALTED))
        yield read, found


def coded(
    spec: Specification, variables: Columns, keys: AssessmentKeys, rng: Generator
) -> Iterator[tuple[ReadField, Recovery]]:
    """The variables' codes, and what their public margins disclose of them."""
    relabelling = Relabelling(spec.project, keys.throw_away_seed("codes"), encoding_digest(spec), 1)
    for variable in spec.variables:
        if variable.name not in variables or variables[variable.name].is_null().all():
            continue
        places = variables[variable.name]
        steps = spec.coarsenings(variable.name)
        codes = relabelling.coded(places, variable, steps).codes
        truth = np.argsort(relabelling.codes(variable, steps)).astype(np.int64)
        counts = np.bincount(places.drop_nulls().to_numpy(), minlength=len(variable.categories))
        redrawn = (rng.poisson(counts) + 0.5).astype(np.float64)
        no_one_linked = np.full(len(truth), UNKNOWN, dtype=np.int64)
        yield (
            ReadField(variable.name, codes, truth, no_one_linked, redrawn / redrawn.sum()),
            code_recovery(variable.name, codes, truth, redrawn, partitions(steps, variable.categories)),
        )
