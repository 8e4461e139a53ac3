"""The leakage benchmark's sections on open mode, on variables' codes, and on who has the seed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks._leakage_joins import dictionary_attack, embedded_alignment, joined_rows
from benchmarks._leakage_study import MAXIMUM, NAMES, OVERLAPS, READS, Line, Study
from gemel.common.keys.derivation import Purpose, Seed, derive
from gemel.common.parties import Side
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.specification import Specification
from gemel.coordinator.demonstration.people.insured import ALICES, KEY, trait_variables, with_traits
from gemel.coordinator.demonstration.people.names import name_tables
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.categories import Relabelling
from gemel.custodian.encoding.minhash import signatures
from gemel.custodian.encoding.records import encode_records
from gemel.custodian.leakage.across import code_recovery, cooccurrence_alignment, unique_rows
from gemel.custodian.leakage.leakage_assessment import assess
from gemel.custodian.leakage.own_whole import truth_of
from gemel.custodian.leakage.recovery import UNKNOWN, score
from gemel.custodian.leakage.similarity_graph import similarity_graph_alignment
from gemel.custodian.leakage.view import FieldView, PublicValues, frequency_alignment
from gemel.custodian.tokens import tokenise

CODED = (*ALICES, KEY)
"""Variables of the people, as Alice holds them."""

DRAFTED_BITS = 1024
"""Bits of a name in a draft of mode open; the study's own draft is of mode block_keyed, and has shorter signatures."""


def open_mode(study: Study) -> Iterator[Line]:
    """One key per field."""
    for field, bits, n, maximum, minimum in (
        ("surname", 1024, study.n, None, READS),
        ("surname", 512, study.n, MAXIMUM, READS),
        ("surname", 256, study.n, MAXIMUM, READS),
        ("given_name", 512, study.n, MAXIMUM, None),
        ("surname", 1024, study.n // 10, MAXIMUM, None),
    ):
        view, truth = study.open_view(field, bits, slice(0, n))
        public = study.public[field]
        if bits == 1024:
            ranks = score("", field, frequency_alignment(view, public), truth, view.counts, 0)
            yield Line.of(f"{field}, {n:,} records, counts alone", ranks)
        begin = time.monotonic()
        graph = similarity_graph_alignment(view, public, maximum=maximum)
        found = score("", field, graph, truth, view.counts, 0)
        part = "" if maximum is None else f", the {maximum:,} commonest values"
        what = f"{field}, {n:,} records, {bits} bits, counts and similarities{part}"
        yield Line.of(what, found, minimum=minimum, seconds=time.monotonic() - begin)


def open_embeddings(study: Study) -> Iterator[Line]:
    """The embedding attack where it must succeed: one graph per field, and people in clear."""
    for field in NAMES:
        view, truth = study.open_view(field, 1024)
        for overlap in OVERLAPS:
            counted = Counter(value for value in study.overlapping(overlap)[field].to_list() if value)
            clear = PublicValues(list(counted), list(counted.values()))
            place = np.append(clear.places(study.public[field].values), UNKNOWN)
            begin = time.monotonic()
            guesses = embedded_alignment(view, clear, MAXIMUM)
            found = score("", field, guesses, place[truth], view.counts, 0)
            what = f"{field}, plaintext overlapping by {overlap:.0%}, the {MAXIMUM:,} commonest values"
            yield Line.of(what, found, minimum=READS, seconds=time.monotonic() - begin)


def hardening(study: Study) -> Iterator[Line]:
    """Options of a field, by the gate's attacks on a quarter of the people: as it is sent, in `DRAFTED_BITS`."""
    columns = {name: column[: study.n // 4] for name, column in study.columns.items()}
    listed = study.public["surname"].values[100:2000]
    year = {"field": "date_of_birth", "part": "year"}
    for what, options in (
        ("nothing held back", {}),
        ("`bits: 128`", {"bits": 128}),
        ("`bits: 64`", {"bits": 64}),
        ("`randomised_response: 0.05`", {"randomised_response": 0.05}),
        ("`randomised_response: 0.1`", {"randomised_response": 0.1}),
        ("`randomised_response: 0.25`", {"randomised_response": 0.25}),
        ("`only_similar`: 1,900 values, without the 100 commonest", {"only_similar": listed}),
        ("`salt`: year of birth", {"salt": year}),
    ):
        document = study.specified(("surname", "date_of_birth", "street"), mode="open", blocking=[])
        changed = document.model_dump(mode="json")
        changed["fields"][0].update({"bits": DRAFTED_BITS, **options})
        spec = Specification.model_validate(changed)
        only = [found for found in assess(columns, spec).findings if found.field == "surname"]
        worst = max(only, key=lambda found: found.above_chance)
        yield Line(f"{what}: {worst.attack}", worst.recovered, worst.chance, attainable=worst.attainable)


def codes(study: Study) -> Iterator[Line]:
    """Codes of the variables that an insurer has of these people, and fields read by means of others."""
    traits, _ = with_traits(study.people, study.people.head(1), study.rng, missing=0.0)
    variables = [{**each, "holder": "alice"} for each in trait_variables() if each["name"] in CODED]
    for mode in ("block_keyed", "open"):
        rows = traits if mode == "open" else traits.head(10_000)  # how sets are made up does not depend on size
        document = {**study.drafted.model_dump(mode="json"), "mode": mode, "variables": variables}
        spec = Specification.model_validate(document)
        cleaned, seed = clean(rows, spec, Side.ALICE), study.fresh_seed()
        sent = encode_records(cleaned.columns, spec, seed, 1, variables=cleaned.variables)
        beside = (
            max(part.n_rows for part in sent.sets if part.variables and part.fields)
            if mode == "open"
            else sum(part.n_rows for part in sent.sets if part.variables and part.fields)
        )
        yield Line(f"mode {mode}: records whose codes are beside signatures", beside / rows.height)
    part = sent.sets[0]
    table = np.stack([part.variables[name].codes for name in CODED], axis=1).astype(np.int64)
    yield Line(f"records with a combination of {len(CODED)} codes of their own", unique_rows(table))
    again = study.rng.permutation(len(table))
    found = joined_rows(table, table[again])
    right = (found != UNKNOWN) & (again[found] == np.arange(len(table)))
    yield Line("rows of two rules joined, if codes were beside both (not what is sent)", float(right.mean()))
    yield from margins(study, spec, part, seed)
    yield from by_given_name(study, spec, part, sent.order, seed)
    yield from with_the_seed(study)


def margins(study: Study, spec: Specification, part: SignatureSet, seed: Seed) -> Iterator[Line]:
    """Every variable's codes aligned with its public margin: that of as many other people."""
    others = pl.DataFrame({"person_id": [f"other {row}" for row in range(study.n)]})
    public, _ = with_traits(others, others.head(1), study.rng, missing=0.0)
    for variable in spec.variables:
        truth = _labels(spec, variable.name, seed)
        margin = np.array([(public[variable.name] == label).sum() for label in variable.categories], dtype=np.float64)
        found = code_recovery(variable.name, part.variables[variable.name].codes, truth, margin)
        yield Line.of(f"{variable.name}, {len(margin)} categories: codes and public margins", found)


def _labels(spec: Specification, name: str, seed: Seed) -> NDArray[np.int64]:
    """The category of each code, as its place in the list."""
    variable = next(each for each in spec.variables if each.name == name)
    labels = Relabelling.of(spec, seed, 1).labels(variable)
    return np.array([variable.categories.index(label) for label in labels], dtype=np.int64)


def by_given_name(
    study: Study, spec: Specification, part: SignatureSet, order: NDArray[np.int64], seed: Seed
) -> Iterator[Line]:
    """Sex, and a trait that has nothing to do with names, by means of the given names that the alignment reads."""
    public, field = study.public["given_name"], part.fields["given_name"]
    guesses = similarity_graph_alignment(FieldView.of(field), public, maximum=MAXIMUM)
    known = np.append(guesses, UNKNOWN)[field.codes]
    counts = np.full((len(public), 2), 0.5)
    for column, group in enumerate(("female", "male")):
        values = ["".join(filter(str.isalpha, name.lower())) for name in name_tables()[group].names]
        np.add.at(counts[:, column], public.places(values), name_tables()[group].weights)
    sexes, sex = PublicValues(["f", "m"], [0.51, 0.49], "value"), part.fields["sex"]
    truth = truth_of(part, "sex", study.columns["sex"], order, sexes)
    found = cooccurrence_alignment(known, sex.codes, sex.n_distinct, counts / counts.sum(axis=0), sexes.shares)
    view = FieldView.of(sex)
    yield Line.of(
        "sex, by co-occurrence with given names that were read", score("", "sex", found, truth, view.counts, 0)
    )
    labels, coded = _labels(spec, KEY, seed), part.variables[KEY].codes
    held = np.bincount(coded[coded >= 0], minlength=len(labels))
    everywhere = np.tile(public.shares[:, None], (1, len(labels)))
    found = cooccurrence_alignment(known, coded, len(labels), everywhere, np.full(len(labels), 1 / len(labels)))
    what = f"{KEY}, by co-occurrence with given names, on which it does not depend"
    yield Line.of(what, score("", KEY, found, labels, held, int(labels[held.argmax()])))


def with_the_seed(study: Study) -> Iterator[Line]:
    """Who has the seed signs every public name and looks it up."""
    public = study.public["surname"]
    keys = derive(study.fresh_seed(), "people", Purpose.SIGNATURE, bytes(32), "surname")
    counted = Counter(value for value in study.columns["surname"].to_list() if value)
    view = FieldView(signatures(tokenise(list(counted), "bigrams"), keys, 512), np.array(list(counted.values())))
    guesses = dictionary_attack(view, public, keys, b"")
    found = score("", "surname", guesses, public.places(list(counted)), view.counts, 0)
    yield Line.of("surname, with the seed: every public name signed", found)
