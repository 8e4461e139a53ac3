"""Salted fields and lists of similar values, attacked: what they keep back, and what undoes them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from gemel.common.documents.result_warning import result_warning
from gemel.common.keys.derivation import Seed
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.specification import Specification, load_specification
from gemel.custodian.encoding.columns import file_order
from gemel.custodian.encoding.records import encode_records
from gemel.custodian.leakage.block_view import BlockView
from gemel.custodian.leakage.held_back import (
    BLOCK_VALUES,
    COMPANY,
    joins_across,
    listed_alone,
    salt_by_salt,
    salts_joined,
)
from gemel.custodian.leakage.leakage_assessment import assess
from gemel.custodian.leakage.own_whole import truth_of
from gemel.custodian.leakage.recovery import UNKNOWN, score
from gemel.custodian.leakage.view import FieldView, PublicValues
from tests.custodian.leakage import names
from tests.custodian.leakage.names import public_surnames, signed
from tests.custodian.leakage.test_blocks import block_view
from tests.specifications import heading

TEXT = (
    heading("people")
    + """
fields:
  - {name: surname, kind: name, bits: 256SETTING}
  - {name: sex, kind: category, bits: 64}
  - {name: born, kind: date, date: {order: ymd, parts: [year]}, bits: 64}
blocking:
  - {name: sex, keys: [{field: sex}]}
RULE
retention: {uploads_days: 7, results_days: 30, maps_days: 90}
"""
)
BY_NAME = "  - {name: name, keys: [{field: surname, prefix: 4}]}"


def specification(setting: str = "", rule: str = "") -> Specification:
    return load_specification(TEXT.replace("SETTING", setting).replace("RULE", rule))


def people(n: int, seed: int) -> dict[str, pl.Series]:
    """Of whom only the year of birth is known."""
    columns = names.people(n, seed, "1950-01-01", 20_000)
    return {**columns, "born": columns["born"].str.head(4) + "0000"}


@pytest.fixture(scope="module")
def columns() -> dict[str, pl.Series]:
    return people(6000, 1)


@pytest.fixture(scope="module")
def many() -> dict[str, pl.Series]:
    """So many that they are read under any key; whether 3,000 rows are is a matter of luck."""
    return people(12_000, 1)


@pytest.fixture(scope="module")
def unprotected(many: dict[str, pl.Series]) -> float:
    """What is recovered of such names in mode open, with nothing held back."""
    return max(recovered(many, specification()).values())


def recovered(columns: dict[str, pl.Series], spec: Specification) -> dict[str, float]:
    """By attack, what is recovered of surnames above guessing."""
    return {f.attack: f.above_chance for f in assess(columns, spec).findings if f.field == "surname"}


BY_SALT = {"counts alone", "counts and similarities", "each salt by itself", "its salts joined by what few rows share"}


@pytest.mark.parametrize(
    ("setting", "rule", "attacks"),
    [
        (", salt: {field: born, part: year}", "", BY_SALT),
        (
            ", salt: {field: born, part: year}",
            BY_NAME,
            BY_SALT | {"counts and similarities, its salts joined by a blocking rule"},
        ),
        (", only_similar: [zzz]", "", {"counts alone", "counts and similarities", "listed values by themselves"}),
    ],
    ids=["salt", "a rule joins salts", "listed"],
)
def test_every_attack_on_what_is_held_back_is_made(setting: str, rule: str, attacks: set[str]) -> None:
    """On 200 people; how much each reads, on thousands, is in the tests of the long tier."""
    found = recovered(people(200, 1), specification(setting, rule))
    assert attacks <= found.keys()
    assert found.get("listed values by themselves", 0) == 0


@pytest.mark.long
def test_a_salt_of_many_values_keeps_names_back(columns: dict[str, pl.Series], unprotected: float) -> None:
    assert unprotected > 0.3
    found = recovered(columns, specification(", salt: {field: born, part: year}"))
    assert {attack for attack in found if "co-occurrence" not in attack} == BY_SALT
    assert max(found.values()) < 0.12  # some hundred records are drawn


@pytest.mark.long
def test_a_salt_of_two_values_is_attacked_as_two_files() -> None:
    found = recovered(people(16_000, 1), specification(", salt: {field: sex}"))
    assert found["each salt by itself"] > 0.3


@pytest.mark.long
def test_a_rule_that_joins_salts_is_attacked(columns: dict[str, pl.Series], many: dict[str, pl.Series]) -> None:
    setting = ", salt: {field: born, part: year}"
    found = recovered(many, specification(setting, BY_NAME))
    assert found["counts and similarities, its salts joined by a blocking rule"] > 0.3
    mended = BY_NAME.replace("prefix: 4}", "prefix: 4}, {field: born, part: year}")
    few = {name: column[:1500] for name, column in columns.items()}
    assert max(recovered(few, specification(setting, mended)).values()) < 0.12


def test_the_report_says_what_else_joins_salts(columns: dict[str, pl.Series]) -> None:
    few = {name: column[:50] for name, column in columns.items()}
    salted, plain = (assess(few, spec) for spec in (specification(", salt: {field: sex}"), specification()))
    assert result_warning("joins_across_salts") in salted.warnings
    assert result_warning("joins_across_salts") not in plain.warnings


def test_joins_across_salts_are_those_of_rows_that_share_something() -> None:
    """Against every pair of rows, one by one."""
    rng = np.random.default_rng(7)
    n = 300
    columns = people(n, 2)
    columns["sex"] = pl.Series([f"house {number}" for number in rng.integers(0, 120, n)])
    columns["sex"][5] = None
    part, salt = salted_set(columns)
    pairs, support = joins_across(part, "surname", salt)
    homes = columns["sex"].to_list()
    size = Counter(homes)
    codes = part.fields["surname"].codes.tolist()
    expected: Counter[tuple[int, ...]] = Counter()
    for i in range(n):
        for j in range(i):
            if homes[i] == homes[j] and homes[i] is not None and size[homes[i]] <= COMPANY and salt[i] != salt[j]:
                expected[tuple(sorted((codes[i], codes[j])))] += 1
    assert dict(zip(map(tuple, pairs.tolist()), support.tolist(), strict=True)) == dict(expected)
    assert len(expected) > 100


def salted_set(columns: dict[str, pl.Series]) -> tuple[SignatureSet, NDArray[np.int64]]:
    """What is sent of surnames salted by the year, and each row's salt; keys of the date are shared by too many."""
    spec = specification(", salt: {field: born, part: year}")
    part = encode_records(columns, spec, Seed.generate(), 1, shuffle=file_order).sets[0]
    _, salt = np.unique(columns["born"].to_numpy().astype(str), return_inverse=True)
    blocks = {rule: np.zeros_like(keys) for rule, keys in part.blocks.items()}
    fields = {name: field for name, field in part.fields.items() if name != "born"}
    return SignatureSet("", part.n_rows, fields, blocks), salt


@pytest.mark.parametrize(("of_one_name", "minimum", "maximum"), [(1.0, 0.5, 1.0), (0.0, 0.0, 0.04)])
def test_relatives_at_one_address_join_salts(of_one_name: float, minimum: float, maximum: float) -> None:
    """A register of whole households of four, of one surname or not: what is read is what joins."""
    columns = people(8000, 3)
    household = np.arange(8000) // 4
    if of_one_name:
        columns["surname"] = columns["surname"].gather(pl.Series(4 * household))
    columns["sex"] = pl.Series([f"house {number}" for number in household])
    part, salt = salted_set(columns)
    public = public_surnames(3000)
    truth = truth_of(part, "surname", columns["surname"], np.arange(8000), public)
    view = FieldView.of(part.fields["surname"])
    found = score("", "surname", salts_joined(part, "surname", salt, public), truth, view.counts, 0)
    assert minimum <= max(0.0, found.records - found.chance) <= maximum


@pytest.mark.long
def test_values_sent_as_codes_are_read_by_their_counts_alone(columns: dict[str, pl.Series], unprotected: float) -> None:
    listed = ", ".join(public_surnames(3000).values[100:1500])
    found = recovered(columns, specification(f", only_similar: [{listed}]"))
    attacks = {attack for attack in found if "co-occurrence" not in attack}
    assert attacks == {"counts alone", "counts and similarities", "listed values by themselves"}
    assert max(found.values()) < unprotected / 2


def test_a_public_value_that_is_a_code_is_similar_to_none() -> None:
    public = PublicValues(["smith", "smyth", "smithe"], [3, 2, 1], similar={"smith", "smyth"})
    assert public.listed.tolist() == [0, 1]
    expected = np.array([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]])
    assert public.similarity(np.arange(3), np.arange(3)) == pytest.approx(expected)
    assert PublicValues(["smith"], [1]).listed.tolist() == [0]


def test_listed_values_are_read_where_they_are_known_to_be_listed() -> None:
    words = ["zoe", "anna", "annas", "hanna", "bertram", "bert"]
    counts = np.array([60, 50, 30, 20, 45, 12])
    view, places = signed(words, counts, 1024)
    public = PublicValues(words, counts * 7.0, similar=words[1:])
    is_listed = np.zeros(len(words), dtype=bool)
    is_listed[places[1:]] = True
    found = listed_alone(view, public, is_listed, 100)
    assert found[places[0]] == UNKNOWN
    assert [public.values[name] for name in found[places[1:]]] == words[1:]
    assert (listed_alone(view, public, np.zeros(6, dtype=bool), 100) == UNKNOWN).all()


def test_large_salts_are_attacked_like_files_and_small_ones_like_blocks() -> None:
    public = public_surnames(2000)
    rng = np.random.default_rng(5)
    held = np.concatenate([rng.choice(2000, size=n, p=public.shares / public.shares.sum()) for n in (4000, 60)])
    salts, truth = block_view(held, np.repeat([0, 1], [4000, 60]), public)
    large, small = salts.members()
    assert len(large) > BLOCK_VALUES > len(small)
    found = salt_by_salt(salts, public, np.array([0, 1]))
    assert (found[small] != UNKNOWN).all()
    view = FieldView(salts.view.signatures[large], salts.view.counts[large])
    assert (found[large] == truth[large])[view.commonest_first()[:200]].mean() > 0.5
    assert (salt_by_salt(salts, public, np.array([1]))[large] == UNKNOWN).all()
    assert isinstance(salts, BlockView)
