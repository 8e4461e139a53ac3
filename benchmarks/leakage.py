"""What a curious Carole could learn of 100,000 invented people, by mode and attack: ``python -m benchmarks leakage``.

Her public knowledge is the name counts from which the people were drawn, cleaned as the names are, and for the
embedding attack a file of people in clear. Nothing is given to an attack that Carole would not have. Shares are of
records.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from carole.coordinator.people import generate
from carole.coordinator.people.names import name_tables
from common.cleaning import clean
from common.encoding import SignatureSet
from common.encoding.blocking_keys import key_text
from common.encoding.blocks import encode_rows
from common.encoding.padding import least_size, rows_of_rules
from common.encoding.records import encode_records
from common.keys.derivation import Purpose, Seed, derive
from common.keys.noise import NoiseKey
from common.minhash import signatures
from common.minhash.jaccard import variance
from common.parties import Side
from common.specification import BlockingRule, Specification, load_specification
from common.tokens import tokenise
from risk.leakage import (
    BlockView,
    FieldView,
    KeyLikelihood,
    PublicValues,
    Recovery,
    attack_by_size,
    block_likelihood,
    frequency_alignment,
    score,
    similarity_graph_alignment,
    size_alignment,
)
from risk.leakage.assessment import truth_of
from risk.leakage.category_codes import unique_rows
from risk.leakage.chaining import chained_alignment, recognised_groups, shared_rows, value_classes
from risk.leakage.dictionary import dictionary_attack
from risk.leakage.embedding import nearest_rows, public_similarity, row_embedding, signature_similarity

HEAD = """
version: 1
project: people
mode: block_keyed
custodians: {alice: {identifier: person_id}, bob: {identifier: person_id}}
fields:
  - {name: given_name, kind: name, bits: 512}
  - {name: surname, kind: name, bits: 512}
  - {name: date_of_birth, kind: date, date: {order: ymd}, bits: 64}
  - {name: street, kind: text, bits: 64}
  - {name: postcode, kind: code, bits: 64}
  - {name: phone, kind: code, bits: 64}
retention: {uploads_days: 7, results_days: 30, maps_days: 90}
blocking:
"""
DEFAULT = """
  - {name: date_of_birth, keys: [{field: date_of_birth}]}
  - {name: given_name_3-surname_3, keys: [{field: given_name, prefix: 3}, {field: surname, prefix: 3}]}
  - {name: given_name_3-postcode, keys: [{field: given_name, prefix: 3}, {field: postcode}]}
  - {name: surname_3-postcode, keys: [{field: surname, prefix: 3}, {field: postcode}]}
  - {name: phone, keys: [{field: phone}]}
  - {name: street_4-postcode, keys: [{field: street, prefix: 4}, {field: postcode}]}
"""
SKEWED = """
  - {name: date_of_birth, keys: [{field: date_of_birth}]}
  - {name: surname_2-given_name_1, keys: [{field: surname, prefix: 2}, {field: given_name, prefix: 1}]}
  - {name: surname_2-year, keys: [{field: surname, prefix: 2}, {field: date_of_birth, part: year}]}
  - {name: postcode, keys: [{field: postcode}]}
  - name: given_name_3-surname_3-year
    keys: [{field: given_name, prefix: 3}, {field: surname, prefix: 3}, {field: date_of_birth, part: year}]
  - {name: surname_3-year, keys: [{field: surname, prefix: 3}, {field: date_of_birth, part: year}]}
  - name: surname_3-year-postcode
    keys: [{field: surname, prefix: 3}, {field: date_of_birth, part: year}, {field: postcode}]
"""
OVERLAPS = (0.1, 0.4, 1.0)
MOST = 5000
CONTROL = "one pseudonym for all rules (positive control)"
GROUPS = "groups of rows recognised under two rules by their tags"
PADDING = "padding: powers_of_two"
PAGE = Path(__file__).resolve().parents[1] / "docs" / "leakage.md"

Row = tuple[str, ...]


class Study:
    """The people, their cleaned columns, and what is public."""

    def __init__(self, n: int, seed: int) -> None:
        self.n, self.seed = n, seed
        self.rng = np.random.default_rng(seed)
        self.people = generate(n, self.rng, sampled=0.05)
        self.columns = self.cleaned(self.people, DEFAULT)
        self.public = {"surname": self._names(("surname",)), "given_name": self._names(("female", "male"))}

    def specification(self, rules: str) -> Specification:
        return load_specification(HEAD + rules, "leakage")

    def cleaned(self, people: pl.DataFrame, rules: str) -> Mapping[str, pl.Series]:
        return clean(people, self.specification(rules), Side.ALICE).columns

    def _names(self, groups: Sequence[str]) -> PublicValues:
        counts: Counter[str] = Counter()
        for group in groups:
            table = name_tables()[group]
            for name, weight in zip(table.names, table.weights, strict=True):
                counts["".join(filter(str.isalpha, name.lower()))] += int(weight)
        return PublicValues(list(counts), list(counts.values()))

    def open_view(
        self, field: str, bits: int, rows: slice = slice(None), flip: float = 0.0
    ) -> tuple[FieldView, NDArray[np.int64]]:
        """A field under one key, some of the rows; the view and the truth."""
        return signed(self.columns[field][rows].to_list(), self.public[field], bits, self.rng, flip)

    def encoded(self, rules: str) -> tuple[list[SignatureSet], dict[str, NDArray[np.int64]]]:
        spec = self.specification(rules)
        sent = encode_records(self.columns, spec, Seed.generate(), 1)
        return [part for part in sent.sets if part.rule], dict(sent.orders)


def signed(
    values: list[str | None], public: PublicValues, bits: int, rng: np.random.Generator, flip: float = 0.0
) -> tuple[FieldView, NDArray[np.int64]]:
    """A column under one fresh key, with bits flipped if asked; the view and the truth."""
    counted = Counter(value for value in values if value)
    tokens = tokenise(list(counted), "bigrams")
    keys = derive(Seed.generate(), "people", Purpose.SIGNATURE, bytes(32), "field")
    signed_values = signatures(tokens, keys, bits)
    if flip:
        # One noise for each value: a signature that is met again must be the same, or rows could not be compared once.
        unpacked = np.unpackbits(signed_values.view(np.uint8), axis=1)
        signed_values = np.packbits(unpacked ^ (rng.random(unpacked.shape) < flip), axis=1).view(np.uint64)
    view = FieldView(signed_values, np.array(list(counted.values()), dtype=np.int64), flip)
    return view, public.places(list(counted))


def row_of(what: str, found: Recovery, seconds: float | None = None) -> Row:
    cells = (what, f"{found.records:.1%}", f"{found.attainable_records:.1%}", f"{found.chance:.1%}")
    return (*cells, f"{found.records - found.chance:+.1%}", "" if seconds is None else f"{seconds:.0f} s")


def open_mode(study: Study) -> Iterator[Row]:
    """One key per field."""
    for field, bits, n, most in (
        ("surname", 1024, study.n, None),
        ("surname", 512, study.n, MOST),
        ("surname", 256, study.n, MOST),
        ("given_name", 512, study.n, MOST),
        ("surname", 1024, study.n // 10, MOST),
    ):
        view, truth = study.open_view(field, bits, slice(0, n))
        public = study.public[field]
        if bits == 1024:
            ranks = score("", field, frequency_alignment(view, public), truth, view.counts, 0)
            yield row_of(f"{field}, {n:,} records, counts alone", ranks)
        begin = time.monotonic()
        graph = similarity_graph_alignment(view, public, most=most)
        found = score("", field, graph.guesses, truth, view.counts, 0)
        part = "" if most is None else f", the {most:,} commonest values"
        what = f"{field}, {n:,} records, {bits} bits, counts and similarities{part}"
        yield row_of(what, found, time.monotonic() - begin)


def by_birthday(study: Study, part: SignatureSet, order: NDArray[np.int64]) -> Iterator[Row]:
    """Blocks of a date of birth."""
    for field, public in study.public.items():
        blocks = BlockView.of(part.fields[field], part.blocks[part.rule])
        truth = truth_of(part, field, study.columns[field], order, public)
        found, _ = attack_by_size("", field, block_likelihood, blocks, public, truth, study.rng, 400)
        yield row_of(f"{field}, each block by itself", found)
        pooled = similarity_graph_alignment(blocks.view, public, most=5000)
        yield row_of(f"{field}, all blocks pooled", score("", field, pooled.guesses, truth, blocks.view.counts, 0))
    for overlap in OVERLAPS:
        yield from embedded(study, part, order, overlap)


def embedded(study: Study, part: SignatureSet, order: NDArray[np.int64], overlap: float) -> Iterator[Row]:
    """Rows looked up among people in clear, of whom a share is in the file."""
    known = int(overlap * study.n)
    others = study.cleaned(generate(study.n - known, study.rng, sampled=0.05), DEFAULT) if known < study.n else None
    plain = {
        name: column[:known] if others is None else pl.concat([column[:known], others[name]])
        for name, column in study.columns.items()
    }
    born = key_text(plain, study.specification(DEFAULT), study.specification(DEFAULT).keyed_rules[0])
    _, theirs = np.unique(born.fill_null("").to_numpy().astype(str), return_inverse=True)
    _, mine = np.unique(part.blocks[part.rule], return_inverse=True)
    encoded_fields, plain_fields = [], []
    for name in ("given_name", "surname"):
        values = plain[name].drop_nulls().unique().to_list()
        public = PublicValues(values, np.ones(len(values)))
        encoded_fields.append((signature_similarity(FieldView.of(part.fields[name])), part.fields[name].codes))
        place = {value: index for index, value in enumerate(public.values)}
        codes = np.array([place.get(value, -1) for value in plain[name].to_list()], dtype=np.int64)
        plain_fields.append((public_similarity(public), codes))
    nearest = nearest_rows(row_embedding(mine, encoded_fields), row_embedding(theirs, plain_fields))
    for name in ("surname", "given_name"):
        true, guess = study.columns[name].to_numpy()[order], plain[name].to_numpy()[nearest]
        here = np.array([value is not None for value in true])
        right = float((true == guess)[here].mean())
        commonest = max(Counter(plain[name].drop_nulls().to_list()).items(), key=lambda pair: pair[1])[0]
        chance = float((true == commonest)[here].mean())
        there = plain[name].drop_nulls().unique().to_numpy().astype(str)
        attainable = float(np.isin(true[here].astype(str), there).mean())
        yield plain_row(f"{name}, embeddings, plaintext overlapping by {overlap:.0%}", right, chance, attainable)


def plain_row(what: str, recovered: float, chance: float, attainable: float | None = None) -> Row:
    """A line of shares that are no `Recovery`."""
    most = "" if attainable is None else f"{attainable:.1%}"
    return (what, f"{recovered:.1%}", most, f"{chance:.1%}", f"{recovered - chance:+.1%}", "")


def skewed(
    study: Study, sets: Sequence[SignatureSet], orders: Mapping[str, NDArray[np.int64]], spec: Specification
) -> Iterator[Row]:
    """Rules made of the attacked field."""
    for part in sets:
        rule = next(rule for rule in spec.keyed_rules if rule.name == part.rule)
        for field, public in study.public.items():
            own = tuple(key for key in rule.keys if key.field == field)
            if not own:
                continue
            blocks = BlockView.of(part.fields[field], part.blocks[part.rule])
            truth = truth_of(part, field, study.columns[field], orders[part.rule], public)
            rest = tuple(key for key in rule.keys if key.field != field)
            counted = key_text(study.columns, spec, BlockingRule(name="rest", keys=rest)).drop_nulls().value_counts()
            others = np.sort(counted.get_column("count").to_numpy() / study.n)[::-1][:200]
            prefix = own[0].prefix or 64
            _, key_of = np.unique([value[:prefix] for value in public.values], return_inverse=True)
            keys = np.outer(np.bincount(key_of, weights=public.shares), others).ravel()
            guessed = size_alignment(blocks.sizes, keys)
            key_guess = np.where(guessed >= 0, guessed // len(others), -1)
            named = key_guess[blocks.block] == key_of[np.maximum(truth, 0)]
            sizes = float(blocks.view.counts[named & (truth >= 0)].sum() / max(1, blocks.view.counts.sum()))
            share = float(np.bincount(key_of, weights=public.shares).max())
            yield plain_row(f"{rule.name}: {field}'s beginning, by the blocks' sizes alone", sizes, share)
            attack = KeyLikelihood(public, key_of, others)
            found, classes = attack_by_size("", field, attack, blocks, public, truth, study.rng, 250)
            yield row_of(f"{rule.name}: {field}, sizes, counts and similarities", found)
            for size in classes:
                if size.least >= 8:
                    label = f"of these, blocks of {size.least} to {size.most} rows, which hold {size.rows:,} records"
                    yield row_of(label, size.recovery)
            # The same blocks as the option sends them. Carole knows what they are padded to, and the file's size.
            blocks, truth, records = padded(study, spec, rule, field)
            guessed = size_alignment(blocks.sizes, keys)
            named = np.where(guessed >= 0, guessed // len(others), -1)[blocks.block] == key_of[np.maximum(truth, 0)]
            sizes = float(records[named & (truth >= 0)].sum() / max(1, records.sum()))
            label = f"{rule.name}, {PADDING}: {field}"
            yield plain_row(f"{label}'s beginning, by the blocks' sizes alone", sizes, share)
            attack = KeyLikelihood(public, key_of, others, n_records=study.n)
            found, _ = attack_by_size("", field, attack, blocks, public, truth, study.rng, 250, records=records)
            yield row_of(f"{label}, sizes, counts and similarities", found)


def padded(
    study: Study, spec: Specification, rule: BlockingRule, field: str
) -> tuple[BlockView, NDArray[np.int64], NDArray[np.int64]]:
    """A field's padded blocks, what each signature is, and how many records have it, dummies left out."""
    needed = tuple(each for each in spec.fields if each.name in {field, *rule.fields})
    alone = spec.model_copy(update={"blocking": (rule,), "fields": needed, "padding": "powers_of_two"})
    sent = rows_of_rules(study.columns, alone, NoiseKey.generate())
    made = encode_rows(sent, alone, Seed.generate(), 1)
    part, order = made.sets[0], made.orders[rule.name]
    held = part.fields[field]
    blocks = BlockView.of(held, part.blocks[rule.name])
    blocks = replace(blocks, least=least_size(blocks.sizes, "powers_of_two"))
    truth = truth_of(part, field, sent.columns[field], order, study.public[field])
    real = (order < sent.n_records) & (held.codes >= 0)
    return blocks, truth, np.bincount(held.codes[real], minlength=held.n_distinct)


def chained(
    study: Study, sets: Sequence[SignatureSet], orders: Mapping[str, NDArray[np.int64]], kinds: Sequence[str]
) -> Iterator[Row]:
    """Several rules together."""
    for field, public in study.public.items():
        truths = [truth_of(part, field, study.columns[field], orders[part.rule], public) for part in sets]
        for kind in kinds:
            begin = time.monotonic()
            joins = shared_rows(sets, field, orders) if kind == CONTROL else recognised_groups(sets, field)
            classes = value_classes(sets, field, joins)
            guesses = chained_alignment(sets, field, classes, public, study.n)
            # Judged over the rows of the rule that shows most of them.
            place = max(range(len(sets)), key=lambda each: sets[each].n_rows)
            held = FieldView.of(sets[place].fields[field])
            found = score("", field, guesses[classes.of[place]], truths[place], held.counts, 0)
            yield row_of(f"{field}, {kind}: {len(joins):,} joins", found, time.monotonic() - begin)


def defences(study: Study) -> Iterator[Row]:
    """What lowers the leak of open mode, and what does not; with the error of a similarity of one half."""
    public = study.public["surname"]
    n = study.n // 4

    def attacked(
        what: str,
        view: FieldView,
        truth: NDArray[np.int64],
        bits: int,
        flip: float = 0.0,
        expected: NDArray[np.float64] | None = None,
    ) -> Row:
        aligned = similarity_graph_alignment(view, public, most=5000, expected=expected)
        found = score("", "surname", aligned.guesses, truth, view.counts, 0)
        error = float(np.sqrt(variance(0.5, bits, flip)))
        return (*row_of(what, found)[:5], f"±{error:.3f}")

    for bits in (1024, 128, 64):
        yield attacked(f"{bits} bits", *study.open_view("surname", bits, slice(0, n)), bits)
    for flip in (0.1, 0.25, 0.35):
        view, truth = study.open_view("surname", 1024, slice(0, n), flip)
        yield attacked(f"1024 bits, each flipped with probability {flip}, once per value", view, truth, 1024, flip)
    view, truth = study.open_view("surname", 1024, slice(0, n))
    rate = public.shares * view.counts.sum()
    padded = FieldView(view.signatures, np.maximum(view.counts, 20))
    yield attacked("counts padded to 20 by dummy records", padded, truth, 1024, expected=np.maximum(rate, 20.0))
    doubled = FieldView(view.signatures, 2 ** np.ceil(np.log2(view.counts)).astype(np.int64))
    powers = 2.0 ** np.ceil(np.log2(np.maximum(rate, 1.0)))
    yield attacked("counts padded to powers of two", doubled, truth, 1024, expected=powers)
    # Which values are sent as codes is public, and the attacker leaves them out of her dictionary.
    rest = PublicValues(public.values[100:], public.shares[100:])
    kept = np.flatnonzero((truth >= 100) & (view.counts >= 3))
    left = FieldView(view.signatures[kept], view.counts[kept])
    aligned = similarity_graph_alignment(left, rest, most=5000)
    found = score("", "surname", aligned.guesses, truth[kept] - 100, left.counts, 0)
    label = "100 commonest values and those met less than 3 times as codes: the rest"
    yield (*row_of(label, found)[:5], "±0.027")
    years = study.columns["date_of_birth"][:n].str.head(4).fill_null("").to_numpy().astype(str)
    names = study.columns["surname"][:n].to_numpy()
    recovered, chance, total = 0.0, 0.0, 0
    for year in np.unique(years)[::16]:
        view, truth = signed(names[years == year].tolist(), public, 1024, study.rng)
        if view.n_values < 2:
            continue
        found = score("", "surname", similarity_graph_alignment(view, public, most=1000).guesses, truth, view.counts, 0)
        recovered += found.records * found.n_records
        chance += found.chance * found.n_records
        total += found.n_records
    recovered, chance = recovered / max(1, total), chance / max(1, total)
    label = "salted by the year of birth: every year by itself, every sixteenth year attacked"
    yield (label, f"{recovered:.1%}", "", f"{chance:.1%}", f"{recovered - chance:+.1%}", "±0.027")


def collusion(study: Study) -> Iterator[Row]:
    """Who has the seed, and what category codes join."""
    public = study.public["surname"]
    keys = derive(Seed.generate(), "people", Purpose.SIGNATURE, bytes(32), "surname")
    counted = Counter(value for value in study.columns["surname"].to_list() if value)
    signed_values = signatures(tokenise(list(counted), "bigrams"), keys, 512)
    view = FieldView(signed_values, np.array(list(counted.values()), dtype=np.int64))
    guesses = dictionary_attack(view, public, keys, b"")
    found = score("", "surname", guesses, public.places(list(counted)), view.counts, 0)
    yield row_of("surname, with the seed: every public name signed", found)
    for n_variables in (4, 6, 8):
        share = unique_rows(study.rng.integers(0, 5, (study.n, n_variables)))
        label = f"rows that can be joined by {n_variables} file-wide codes of 5 even categories"
        yield (label, f"{share:.1%}", "", "", "", "")


def table(title: str, rows: Iterator[Row], last: str = "time") -> str:
    lines = [
        f"## {title}",
        "",
        f"| attack | recovered | attainable | by guessing | beyond it | {last} |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        lines.append("| " + " | ".join(row) + " |")
        print(lines[-1], flush=True)
    return "\n".join([*lines, ""])


def main(arguments: list[str]) -> int:
    """Run every attack and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks leakage", description=__doc__)
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--write", action="store_true", help="write docs/leakage.md")
    options = parser.parse_args(arguments)
    begin = time.monotonic()
    study = Study(options.people, options.seed)
    sections = [table("Open mode: one key per field", open_mode(study))]
    sets, orders = study.encoded(DEFAULT)
    birthday = sets[0]
    sections.append(table("Block-keyed by date of birth", by_birthday(study, birthday, orders[birthday.rule])))
    spec = study.specification(DEFAULT)
    sections.append(table("A default rule made of the attacked fields", skewed(study, sets[1:2], orders, spec)))
    sections.append(table("Several rules together, the default ones", chained(study, sets, orders, (GROUPS,))))
    sets, orders = study.encoded(SKEWED)
    control = chained(study, sets[:4], orders, (CONTROL, GROUPS))
    sections.append(table("Several rules together, wide ones", control))
    sections.append(table("Skewed rules", skewed(study, sets[4:], orders, study.specification(SKEWED))))
    sections.append(table("Other defences, on open mode", defences(study), "error of a similarity of .5"))
    sections.append(table("With the seed, and by category codes", collusion(study)))
    seconds = time.monotonic() - begin
    text = page(options.people, options.seed, seconds, sections)
    print(f"\n{seconds:.0f} s")
    if options.write:
        PAGE.write_text(text, encoding="utf-8")
        print(f"wrote {PAGE}")
    return 0


def page(people: int, seed: int, seconds: float, sections: Sequence[str]) -> str:
    """The page of results."""
    return "\n".join(
        [
            "# What the attacks recover",
            "",
            f"Printed by `python -m benchmarks leakage --write`: {people:,} invented people, seed {seed},"
            f" {seconds:.0f} s on two busy cores. Shares are of the records with a value in the field. *Attainable*:"
            " the value is in the attacker's dictionary at all. *By guessing*: the commonest value named everywhere."
            " Figures of blocks are from a sample of blocks of every size, weighted by the records in such blocks; a"
            " hundredth of error is to be expected in them. What follows from it stands in"
            " [threat-model.md](threat-model.md).",
            "",
            *sections,
        ]
    )
