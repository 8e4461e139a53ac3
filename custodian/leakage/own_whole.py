"""The gate where one key serves the whole file: its fields, what they disclose of each other, its variables' codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl

from gemel.common.keys.noise import AssessmentKeys
from gemel.common.specification import Specification, encoding_digest
from gemel.common.specification.model.protection import partitions
from gemel.custodian.cleaning.parts import salt_text
from gemel.custodian.cleaning.similar_values import listed_in
from gemel.custodian.encoding.categories import category_codes, relabelling
from gemel.custodian.encoding.columns import file_order
from gemel.custodian.encoding.records import encode_records
from gemel.custodian.leakage.across import ReadField
from gemel.custodian.leakage.category_codes import code_recovery
from gemel.custodian.leakage.frequency import frequency_alignment
from gemel.custodian.leakage.held_back import listed_alone, salts_attacked, without_undone_salts
from gemel.custodian.leakage.own_file import finding, public_values, truth_of
from gemel.custodian.leakage.recovery import UNKNOWN, Recovery, score
from gemel.custodian.leakage.similarity_graph import similarity_graph_alignment
from gemel.custodian.leakage.view import FieldView
from gemel.custodian.leakage_report import Finding

MAX_VALUES = 1500
"""Values of a field attacked in open mode."""

SALTED = 4000
"""Records drawn of a salted field, in whole salts: of a few salts alone, now and then one is read by luck."""


def field_by_field(
    columns: Mapping[str, pl.Series], spec: Specification, keys: AssessmentKeys, rng: np.random.Generator
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
        attacked = {
            "": part,
            **({", its salts joined by a blocking rule": joined} if spec.rules_undoing_salt(field) else {}),
        }
        for how, seen in attacked.items():
            view = FieldView.of(seen.fields[field.name], field.randomised_response)
            truth = truth_of(seen, field.name, column, rows, public)
            guesses = {
                "counts alone": frequency_alignment(view, public),
                "counts and similarities": similarity_graph_alignment(view, public, maximum=MAX_VALUES).guesses,
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
    spec: Specification, variables: Mapping[str, pl.Series], keys: AssessmentKeys, rng: np.random.Generator
) -> Iterator[tuple[ReadField, Recovery]]:
    """The variables' codes, and what their public margins disclose of them."""
    seed, digest = keys.throw_away_seed("codes"), encoding_digest(spec)
    for variable in spec.variables:
        if variable.name not in variables or variables[variable.name].is_null().all():
            continue
        places = variables[variable.name]
        steps = spec.coarsenings(variable.name)
        codes = category_codes(places, variable, spec.project, seed, digest, 1, steps=steps).codes
        truth = np.argsort(relabelling(variable, spec.project, seed, digest, 1, steps=steps)).astype(np.int64)
        counts = np.bincount(places.drop_nulls().to_numpy(), minlength=len(variable.categories))
        redrawn = (rng.poisson(counts) + 0.5).astype(np.float64)
        no_one_linked = np.full(len(truth), UNKNOWN, dtype=np.int64)
        yield (
            ReadField(variable.name, codes, truth, no_one_linked, redrawn / redrawn.sum()),
            code_recovery(variable.name, codes, truth, redrawn, partitions(steps, variable.categories)),
        )
