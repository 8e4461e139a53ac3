"""Hardening of mode open: what each option costs in links, and what the gate's attack still recovers.

Every line is one specification with something changed, on the same records and blocking rules: FEBRL4 without its
social security numbers, and two files of generated people, with and without their addresses and telephones: where
there is little else to go by, what names no longer distinguish is missed. The truth judges the links. The attack is the
gate's, on Alice's file, with public values as good as an attacker's could be: the share of the records whose name it
finds, by its best means, and the share that guessing the commonest would.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from benchmarks import DATA
from benchmarks.modes import febrl, judged, link_in, people
from gemel.common.keys.derivation import Purpose, Seed, derive
from gemel.common.keys.epochs import MAX_EPOCHS
from gemel.common.parties import Side
from gemel.common.specification import Specification
from gemel.coordinator.demonstration.people.names import name_tables
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.minhash import signatures
from gemel.custodian.leakage.leakage_assessment import assess
from gemel.custodian.leakage.recovery import score
from gemel.custodian.leakage.similarity_graph import similarity_graph_alignment
from gemel.custodian.leakage.view import FieldView, PublicValues
from gemel.custodian.tokens import tokenise

ATTACKED = ("surname", "given_name")
SALTS = (250, 500, 1000, 2000, 4000, 8000)
PUBLIC = 20_000
"""Public surnames of the attack on one salt, the commonest, from which the salt's are drawn too."""


@dataclass(frozen=True)
class Variant:
    """A specification with something changed."""

    name: str
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    everywhere: Mapping[str, Any] = field(default_factory=dict)
    sections: Mapping[str, Any] = field(default_factory=dict)
    keys: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)

    def of(self, spec: Specification) -> Specification:
        """The changed specification, checked as any other is."""
        document = spec.model_dump(mode="json")
        for each in document["fields"]:
            each.update({**self.everywhere, **self.fields.get(each["name"], {})})
        for rule in document["blocking"]:
            rule["keys"] += self.keys.get(rule["name"], ())
        return Specification.model_validate({**document, **self.sections})


def variants() -> Iterator[Variant]:
    """The lines of the table, in its order."""

    def names(**attributes: Any) -> dict[str, dict[str, Any]]:
        return dict.fromkeys(ATTACKED, attributes)

    yield Variant("mode open")
    yield Variant("mode block_keyed", sections={"mode": "block_keyed"})
    sections = {"mode": "block_keyed", "padding": "powers_of_two"}
    yield Variant("mode block_keyed, padding: powers_of_two", sections=sections)
    for randomised_response in (0.0, 0.1, 0.15):
        blurred = {"bits": 64, "randomised_response": randomised_response} if randomised_response else {"bits": 64}
        how = f", randomised at {randomised_response}" if randomised_response else ""
        yield Variant(f"mode block_keyed, all fields in 64 bits{how}", {}, blurred, {"mode": "block_keyed"})
    for bits in (256, 128, 64):
        yield Variant(f"names in {bits} bits", names(bits=bits))
    # Their levels are made noise tolerant; those of 64 bits can stay.
    for randomised_response in (0.05, 0.1, 0.25):
        yield Variant(f"names randomised at {randomised_response}", names(randomised_response=randomised_response))
    for randomised_response in (0.05, 0.1):
        yield Variant(
            f"all fields randomised at {randomised_response}", everywhere={"randomised_response": randomised_response}
        )
    year, born = {"field": "date_of_birth", "part": "year"}, {"field": "date_of_birth"}
    yield Variant("names salted by the year of birth, rule on names as it is", names(salt=year))
    yield Variant(
        "names salted by the year of birth, which the rule on names takes too", names(salt=year), keys={"names": [year]}
    )
    yield Variant(
        "names salted by the date of birth, which the rule on names takes too", names(salt=born), keys={"names": [born]}
    )
    listed = {
        "surname": {"only_similar": public_names("surname")},
        "given_name": {"only_similar": public_names("female", "male")},
    }
    yield Variant("similar only names of rank 101 to 10,100", listed)


def public_names(*groups: str) -> list[str]:
    """The names of a public list without its 100 commonest, up to 10,000 of them."""
    counts: Counter[str] = Counter()
    for group in groups:
        table = name_tables()[group]
        for name, weight in zip(table.names, table.weights, strict=True):
            counts[str(name)] += int(weight)
    return [name for name, _ in counts.most_common(10_100)][100:]


def recovered(spec: Specification, frame: pl.DataFrame) -> dict[str, str]:
    """By attacked field, what the gate's best attack finds and what guessing would, for the table."""
    # In mode open an attack looks at other fields only to join salts.
    alone = spec.mode == "open" and all(each.salt is None for each in spec.fields)
    seen = without_addresses(spec) if alone else spec
    report = assess(clean(frame, seen, Side.ALICE).columns, seen)
    reported = {}
    for name in ATTACKED:
        found = [finding for finding in report.findings if finding.field == name]
        if found:
            best = max(found, key=lambda finding: (finding.above_chance, finding.recovered))
            reported[name] = f"{best.recovered:.1%} ({best.chance:.1%})"
    return reported


def without_addresses(spec: Specification) -> Specification:
    """A specification with names, sex and date of birth only, and rules of these."""
    kept = ("given_name", "surname", "sex", "date_of_birth")
    document = spec.model_dump(mode="json")
    document["fields"] = [each for each in document["fields"] if each["name"] in kept]
    document["blocking"] = [rule for rule in document["blocking"] if all(key["field"] in kept for key in rule["keys"])]
    return Specification.model_validate(document)


def by_size_of_salt(sizes: Sequence[int], repeats: int, seed: int) -> Iterator[str]:
    """What is read of the surnames of one salt by itself, by how many rows have it; a line of the table each."""
    table = name_tables()["surname"]
    public = PublicValues([name.lower() for name in table.names[:PUBLIC]], table.weights[:PUBLIC])
    rng = np.random.default_rng(seed)
    for size in sizes:
        shares = []
        for _ in range(repeats):
            truth, counts = np.unique(rng.choice(len(public), size=size, p=public.shares), return_counts=True)
            keys = derive(Seed(rng.bytes(32)), "defences", Purpose.SIGNATURE, bytes(32), "surname")
            view = FieldView(
                signatures(tokenise([public.values[name] for name in truth], "bigrams"), keys, 1024), counts
            )
            guesses = similarity_graph_alignment(view, public, maximum=1500)
            shares.append(score("", "surname", guesses, truth, view.counts, 0).records)
        yield f"| {size:,} | {np.mean(shares):.1%} | {', '.join(f'{share:.1%}' for share in sorted(shares))} |"


def by_epochs(spec: Specification, frame: pl.DataFrame) -> Iterator[str]:
    """What the gate's attack recovers of records sent in one, two and three epochs; a line of the table each.

    As the gate counts them: as many times the bits as there are epochs, whose rows the attacker can put together.
    """
    short, noisy = {"bits": 64}, {"bits": 64, "randomised_response": 0.1}
    for mode, everywhere in (("open", short), ("open", noisy), ("block_keyed", noisy)):
        changed = Variant("", {}, everywhere, {"mode": mode}).of(spec)
        for epochs in range(1, MAX_EPOCHS + 1):
            fields = tuple(field.model_copy(update={"bits": epochs * field.bits}) for field in changed.fields)
            found = recovered(changed.model_copy(update={"fields": fields}), frame)
            noise = everywhere.get("randomised_response", 0)
            yield f"| {mode} | {noise} | {epochs} | " + " | ".join(found.get(name, "") for name in ATTACKED) + " |"


def main(arguments: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks hardening", description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000, help="generated people in each file")
    parser.add_argument("--errors", type=float, default=0.2, help="share of the generated records with errors")
    parser.add_argument("--seed", type=int, default=1, help="of the generated people")
    parser.add_argument("--only", default="", help="variants with this in their name, and mode open")
    parser.add_argument("--no-attack", action="store_true", help="links only")
    parser.add_argument("--salts", action="store_true", help="instead: what one salt gives away, by its rows")
    parser.add_argument("--epochs", action="store_true", help="instead: what further epochs give away, in 64 bits")
    options = parser.parse_args(arguments)
    if options.epochs:
        print("| mode | randomised | epochs |", *(f"{a} found (guessed) |" for a in ATTACKED))
        print("|---" * (3 + len(ATTACKED)) + "|")
        spec, files = people(options.rows, options.errors, options.seed)
        for line in by_epochs(spec, files[Side.ALICE]):
            print(line, flush=True)
        return 0
    if options.salts:
        print("| rows of a salt | surnames read, mean | each time |\n|---|---|---|")
        for line in by_size_of_salt(SALTS, 12, options.seed):
            print(line, flush=True)
        return 0
    title = f"{options.rows:,} generated people, {options.errors:.0%} with errors, seed {options.seed}"
    cases = [("FEBRL4 without soc_sec_id", febrl())] if (DATA / "febrl").is_dir() else []
    spec, files = people(options.rows, options.errors, options.seed)
    cases += [(title, (spec, files)), (f"{title}, names, sex and birth only", (without_addresses(spec), files))]
    print(
        "| data | specification | F1 | difference | precision | recall |", *(f"{a} found (guessed) |" for a in ATTACKED)
    )
    print("|---" * (6 + len(ATTACKED)) + "|")
    for title, (spec, files) in cases:
        plain: float | None = None
        for variant in variants():
            if plain is not None and options.only not in variant.name:
                continue
            changed = variant.of(spec)
            f1, precision, recall = judged(
                link_in(changed.mode, changed, files, Seed(bytes(range(32)))), files, "person"
            )
            plain = f1 if plain is None else plain
            attack = {} if options.no_attack else recovered(changed, files[Side.ALICE])
            cells = [title, variant.name, f"{f1:.4f}", f"{f1 - plain:+.4f}", f"{precision:.4f}", f"{recall:.4f}"]
            print("| " + " | ".join([*cells, *(attack.get(name, "") for name in ATTACKED)]) + " |", flush=True)
    return 0
