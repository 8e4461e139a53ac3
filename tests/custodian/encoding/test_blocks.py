"""Block-keyed mode: signatures by the definition, nothing shared between blocks or rules, tags."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.derivation import Purpose, Seed, derive
from gemel.common.keys.suite import Suite
from gemel.common.signatures.layout import CODES, GROUPS, SAMPLES
from gemel.common.signatures.payload import from_bytes, to_bytes
from gemel.common.signatures.signature_sets import SignatureSet, layout_of
from gemel.common.specification import Specification, encoding_digest, load_specification
from gemel.custodian.encoding import signing as subject
from gemel.custodian.encoding.categories import Relabelling
from gemel.custodian.encoding.columns import file_order
from gemel.custodian.encoding.minhash import block_signatures, signatures
from gemel.custodian.encoding.records import Encoded, encode_records
from gemel.custodian.encoding.rows_of_mode import tags
from gemel.custodian.tokens import tokenise
from tests.carole.refusals import refusal
from tests.custodian.encoding.encoded_rows import n_signed, rows_of, series
from tests.specifications import heading
from tests.vectors import make_block_keyed as make

SEED = Seed(bytes(range(32)))
TEXT = (
    heading("encoding", "block_keyed")
    + """
fields:
  - {name: surname, kind: name, bits: 128}
  - {name: given, kind: name, bits: 128, key_domain: surname}
  - {name: born, kind: date, date: {order: ymd}, bits: 128}
  - {name: sex, kind: category, bits: 128}
blocking:
  - {name: born, keys: [{field: born}]}
  - {name: sex, keys: [{field: sex}]}
  - {name: name, keys: [{field: surname, prefix: 2}]}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
)
SPEC = load_specification(TEXT)


def encoded(columns: dict[str, list[str | None]], spec: Specification = SPEC) -> Encoded:
    return encode_records(series(columns), spec, SEED, 1, shuffle=file_order)


def people(n: int, seed: int) -> dict[str, list[str | None]]:
    rng = np.random.default_rng(seed)
    names = ["smith", "smyth", "smiley", "jones", "jonas", "brown", None]
    return {
        "surname": [names[i] for i in rng.integers(0, 7, n)],
        "given": [names[i] for i in rng.integers(0, 7, n)],
        "born": [[None, "19151107", "19160102", "19150000"][i] for i in rng.integers(0, 4, n)],
        "sex": [["f", "m", None][i] for i in rng.integers(0, 3, n)],
    }


def sent(part: SignatureSet) -> list[str]:
    """The fields that a set has signatures of."""
    return [name for name, field in part.fields.items() if field.content != "fixed"]


@pytest.mark.parametrize("suite", Suite)
def test_frozen_vectors(monkeypatch: pytest.MonkeyPatch, suite: Suite) -> None:
    """Golden values made by the plain definitions (tests/vectors/make_block_keyed.py)."""
    text = make.PATHS[suite].read_text(encoding="ascii")
    assert text == make.written(suite)
    golden = json.loads(text)
    monkeypatch.setattr(subject, "encoding_digest", lambda spec: make.DIGEST)
    spec = load_specification(f"{make.SPECIFICATION}cryptography: {suite}\n")
    columns = {name: [record[name] for record in make.RECORDS] for name in make.DOMAINS}
    made = encode_records(series(columns), spec, Seed(make.SEED), make.EPOCH, shuffle=file_order)
    *rules, samples = made.sets
    assert [part.rule for part in made.sets] == ["born", "name", SAMPLES]
    assert samples.n_rows == GROUPS * len(make.RECORDS)
    for number, of_group in golden["samples"].items():
        rows = slice(int(number) * len(make.RECORDS), (int(number) + 1) * len(make.RECORDS))
        for name in samples.fields:
            found = [row if row is None else row[::-1].hex() for row in rows_of(samples, name)[rows]]
            assert found == [row[name] for row in of_group]
    for part in rules:
        expected = [row for row in golden["sets"][part.rule] if row is not None]
        assert part.n_rows == len(expected)
        fixed = {"born": {"born"}, "name": {"sex"}}[part.rule]
        assert set(sent(part)) == set(part.fields) - fixed
        for name in sent(part):
            found = [row if row is None else row[::-1].hex() for row in rows_of(part, name)]
            assert found == [row["signatures"][name] for row in expected]
        for row, selected in enumerate(expected):
            assert {rule: f"{keys[row]:016x}" for rule, keys in part.blocks.items()} == selected["blocks"]


def test_many_signatures_in_blocks_are_those_of_each_block() -> None:
    """More than one chunk holds."""
    rng = np.random.default_rng(1)
    values = ["".join(chr(97 + c) for c in row) for row in rng.integers(0, 26, size=(3000, 12))]
    tokens = tokenise(values, "bigrams", bytes(32))
    keys = derive(SEED, "p", Purpose.SIGNATURE, bytes(32))
    block = np.sort(rng.integers(0, 3, 9000)).astype(np.uint64)
    value = rng.integers(0, 3000, 9000).astype(np.int32)
    found = block_signatures(tokens, value, block, keys, 512)
    for number in range(3):
        expected = signatures(tokens, keys, 512, number.to_bytes(8, "little"))
        np.testing.assert_array_equal(found[block == number], expected[value[block == number]])


@settings(max_examples=25)
@given(n=st.integers(1, 40), seed=st.integers(0, 2**32 - 1))
def test_what_can_be_compared_is_what_a_block_holds(n: int, seed: int) -> None:
    """Within a block equal values have equal signatures; between blocks, rules and the sample nothing is equal."""
    columns = people(n, seed)
    made = encoded(columns)
    seen: dict[bytes, tuple[str, int, str]] = {}
    for part in made.sets[:-1]:
        part.validate()
        order, own = made.orders[part.rule], part.blocks[part.rule].tolist()
        for name in sent(part):
            for row, signed in enumerate(rows_of(part, name)):
                value = columns[name][order[row]]
                assert (signed is None) == (value is None)
                if signed is not None and value is not None:
                    # Two fields of one key domain may agree, within a block.
                    assert seen.setdefault(signed, (part.rule, own[row], value)) == (part.rule, own[row], value)
    sample = made.sets[-1]
    sample.validate()
    assert sample.blocks == {}
    assert not {row for name in sample.fields for row in rows_of(sample, name)} & (set(seen) - {None})


@settings(max_examples=25)
@given(n=st.integers(1, 40), seed=st.integers(0, 2**32 - 1))
def test_rows_and_tags(n: int, seed: int) -> None:
    columns = people(n, seed)
    made = encoded(columns)
    prefix = [value[:2] if value else None for value in columns["surname"]]
    whole = [None if value == "19150000" else value for value in columns["born"]]
    keys = {"born": whole, "sex": columns["sex"], "name": prefix}
    for part in made.sets[:-1]:
        order = made.orders[part.rule]
        assert order.tolist() == [row for row in range(n) if keys[part.rule][row] is not None]
        assert list(part.blocks) == list(keys)
        own = part.blocks[part.rule]
        for other, tag in part.blocks.items():
            theirs = [keys[other][row] for row in order]
            assert [value == 0 for value in tag.tolist()] == [value is None for value in theirs]
            for i in range(len(order)):
                for j in range(i):
                    if tag[i]:
                        assert (tag[i] == tag[j]) == (own[i] == own[j] and theirs[i] == theirs[j])


def test_a_block_of_one_and_a_block_of_half_the_file() -> None:
    n = 60
    columns: dict[str, list[str | None]] = {
        "surname": ["smith"] * (n // 2) + [f"x{i}y" for i in range(n // 2)],
        "given": ["john"] * n,
        "born": ["19151107"] * (n // 2) + [f"191601{10 + i}" if i < 10 else None for i in range(n // 2)],
        "sex": ["f"] * n,
    }
    made = encoded(columns)
    born = made.sets[0]
    assert born.n_rows == n // 2 + 10
    sizes = np.unique(born.blocks["born"], return_counts=True)[1]
    assert sorted(sizes.tolist()) == [1] * 10 + [n // 2]
    assert born.fields["given"].n_distinct == 11
    assert made.sets[1].fields["given"].n_distinct == 1


def test_a_rule_without_any_key_and_round_trip() -> None:
    columns = people(30, 1) | {"sex": [None] * 30}
    made = encoded(columns)
    assert [part.n_rows for part in made.sets][1] == 0
    assert_round_trip(made)


def assert_round_trip(made: Encoded) -> None:
    read = from_bytes(made.layout, b"".join(to_bytes(made.sets)))
    assert [part.layout for part in made.sets] == [part.layout for part in read]


def test_rule_order_key_domain_and_split_change_every_signature() -> None:
    columns = people(40, 2)
    first = encoded(columns)
    swapped = TEXT.replace("{name: born, keys: [{field: born}]}", "{name: sex2, keys: [{field: sex}]}").replace(
        "{name: sex, keys: [{field: sex}]}", "{name: born, keys: [{field: born}]}"
    ).replace("sex2", "sex")  # fmt: skip
    other_domain = TEXT.replace(", key_domain: surname", "")
    split = TEXT.replace("prefix: 2}]", "prefix: 2}], split: sex")

    def signed(made: Encoded) -> set[bytes | None]:
        return {row for part in made.sets for name in sent(part) for row in rows_of(part, name) if row}

    digests = {encoding_digest(SPEC)}
    for text in (swapped, other_domain, split):
        spec = load_specification(text)
        digests.add(encoding_digest(spec))
        assert not signed(first) & signed(encoded(columns, spec))
    assert len(digests) == 4


def test_a_split_is_part_of_every_key() -> None:
    columns = people(200, 3)
    split = load_specification(TEXT.replace("prefix: 2}]", "prefix: 2}], split: sex"))
    made = encoded(columns, split).sets[2]
    both = {(s[:2], x) for s, x in zip(columns["surname"], columns["sex"], strict=True) if s and x}
    assert len(set(made.blocks["name"].tolist())) == len(both)


def test_pseudonyms_of_two_rules_have_nothing_to_do_with_each_other() -> None:
    n = 4000
    columns = {"surname": ["smith"], "given": ["smith"], "born": ["19151107"], "sex": ["f"]}
    made = encode_records(series({name: n * value for name, value in columns.items()}), SPEC, SEED, 1)
    orders = [made.orders[name] for name in ("born", "sex", "name")]
    for i in range(3):
        assert sorted(orders[i].tolist()) == list(range(n))
        for j in range(i):
            # Fixed points of a random permutation are Poisson(1): 20 and more once in 1e19.
            assert np.count_nonzero(orders[i] == orders[j]) < 20


def test_tags_of_no_key_are_none() -> None:
    block, other = np.array([5, 5, 6], dtype=np.uint64), np.array([0, 9, 9], dtype=np.uint64)
    made = tags(block, other, bytes(range(32)))
    assert made[0] == 0
    assert made[1] != made[2]
    assert made[1] != 0


def test_without_a_rule_nothing_is_encoded() -> None:
    spec = SPEC.model_copy(update={"blocking": ()})
    with refusal(ErrorCode.PARAMETER):
        encoded(people(5, 1), spec)


VARIABLES = """
variables:
  - {name: region, holder: both, categories: [n, e, s, w]}
  - {name: illness, holder: bob, categories: [none, some, grave]}
"""
CODED = load_specification(TEXT + VARIABLES)


def test_codes_have_a_set_of_their_own_in_an_order_of_its_own() -> None:
    """Every record once, under the keyed relabelling; nothing in the bytes but codes, nothing joins them to a rule."""
    n = 4000
    columns = people(n, 5) | {"born": ["19151107"] * n}
    places = {
        "region": pl.Series(np.arange(n) % 4, dtype=pl.Int32),
        "illness": pl.Series([None if i % 7 == 0 else i % 3 for i in range(n)], dtype=pl.Int32),
    }
    made = encode_records(series(columns), CODED, SEED, 1, variables=places)
    assert [part.rule for part in made.sets] == ["born", "sex", "name", SAMPLES, CODES]
    codes = made.sets[-1]
    assert (codes.n_rows, codes.fields, codes.blocks) == (n, {}, {})
    assert all(not part.variables for part in made.sets[:-1])
    payload = b"".join(to_bytes([codes]))
    assert len(payload) == 2 * 2 * n
    order = made.orders[CODES]
    assert sorted(order.tolist()) == list(range(n))
    digest = encoding_digest(CODED)
    for variable in CODED.variables:
        new = Relabelling(CODED.project, SEED, digest, 1).codes(variable)
        expected = [-1 if place is None else int(new[place]) for place in places[variable.name][order].to_list()]
        assert codes.variables[variable.name].codes.tolist() == expected
    # Orders are independent: a rank correlation of n random pairs has standard deviation 1 / sqrt(n - 1).
    for rule in ("born", "sex", "name"):
        of_record = {int(record): place for place, record in enumerate(made.orders[rule])}
        both = [(of_record[int(record)], place) for place, record in enumerate(order) if int(record) in of_record]
        ranks = np.argsort(np.argsort(np.array(both), axis=0), axis=0)
        correlation = np.corrcoef(ranks.T)[0, 1]
        assert abs(correlation) < 5 / np.sqrt(len(both) - 1)
    # What the custodian keeps: signed rows first, then those of the codes.
    assert n_signed(made) == sum(len(made.orders[rule]) for rule in ("born", "sex", "name"))
    assert made.order[n_signed(made) :].tolist() == order.tolist()
    back = from_bytes(layout_of(made.sets, n), b"".join(to_bytes(made.sets)))
    assert back[-1].layout == codes.layout


def test_who_holds_no_variable_has_rows_of_codes_all_the_same() -> None:
    none = load_specification(TEXT + VARIABLES.replace("holder: both", "holder: bob"))
    made = encode_records(series(people(9, 2)), none, SEED, 1)
    assert (made.sets[-1].rule, made.sets[-1].n_rows, made.sets[-1].variables) == (CODES, 9, {})
    with pytest.raises(GemelError, match="one custodian holds"):
        encode_records(series(people(9, 2)), CODED, SEED, 1)


def test_rows_of_a_rule_have_no_signature_of_what_it_withholds() -> None:
    columns = people(60, 5)
    withholding = load_specification(
        TEXT.replace(
            "{name: sex, keys: [{field: sex}]}", "{name: sex, keys: [{field: sex}], withheld: [surname, born]}"
        )
    )
    made, whole = encoded(columns, withholding), encoded(columns)
    for part, plain in zip(made.sets, whole.sets, strict=True):
        assert part.n_rows == plain.n_rows
        for name in part.fields:
            if part.rule == "sex" and name in ("surname", "born"):
                assert part.fields[name].n_distinct == 0
                assert set(rows_of(part, name)) == {None}
            else:
                # Keys differ, since the encoding does; which rows have a value, and how many differ, does not.
                assert part.fields[name].n_distinct == plain.fields[name].n_distinct
                assert [row is None for row in rows_of(part, name)] == [row is None for row in rows_of(plain, name)]
    assert_round_trip(made)
