"""What changes which digest; and golden digests, so that no edit changes them unseen."""

from __future__ import annotations

import hashlib
import unicodedata
from typing import Any

import pytest
import yaml
from pytest import MonkeyPatch  # noqa: PT013

from gemel.common.specification import Specification, encoding_digest, load_specification, specification_digest
from gemel.common.specification.model.resolution import MAX_JOINS
from gemel.common.specification.text.digest import canonical_json
from tests.common.specification.example import EXAMPLE
from tests.common.specification.test_block_keyed import TEXT as BLOCK_KEYED


def example(**changes: Any) -> Specification:
    data = load_specification(EXAMPLE).model_dump()
    for path, value in changes.items():
        target: Any = data
        *parents, last = (int(part) if part.isdigit() else part for part in path.split("__"))
        for part in parents:
            target = target[part]
        target[last] = value
    return Specification.model_validate(data)


def test_they_are_32_bytes_and_differ() -> None:
    spec = example()
    assert len(encoding_digest(spec)) == len(specification_digest(spec)) == 32
    assert encoding_digest(spec) != specification_digest(spec)


def test_spelling_does_not_change_them() -> None:
    spec = example()
    data = yaml.safe_load(EXAMPLE)
    data["fields"][1]["bits"] = 1024
    data["fields"][1]["clean"] = list(reversed(spec.fields[1].clean))
    data["fields"][0]["missing"] = ["not given", 9999, "0000"]
    data["model"]["tolerance"] = 1e-8
    spelt_out = load_specification(yaml.safe_dump(data, sort_keys=True))
    assert spelt_out == spec
    assert encoding_digest(spelt_out) == encoding_digest(spec)
    assert specification_digest(spelt_out) == specification_digest(spec)


@pytest.mark.parametrize(
    "change",
    [
        {"project": "other"},
        {"links__threshold": 0.9},
        {"links__assignment": "none"},
        {"model__u": "free"},
        {"release__bob": "nothing"},
        {"retention__maps_days": 91},
        {"custodians__bob__identifier": "other"},
        {"fields__0__levels": "em15"},
        {"fields__0__columns": {"alice": "x", "bob": "y"}},
        {"fields__1__column": "x"},
    ],
)
def test_what_need_not_be_signed_again(change: dict[str, Any]) -> None:
    assert encoding_digest(example(**change)) == encoding_digest(example())
    assert specification_digest(example(**change)) != specification_digest(example())


@pytest.mark.parametrize(
    "change",
    [
        {"fields__0__name": "other", "blocking": []},
        {"fields__0__clean": ("unicode", "stop_words")},
        {"fields__0__stop_words": ("dr", "mr")},
        {"fields__0__missing": ("x",)},
        {"fields__0__tokens": "positional_bigrams"},
        {"fields__0__bits": 512},
        {"fields__0__key_domain": "given_name"},
        {"cryptography": "approved"},
        {"fields__2__date__order": "dmy"},
        {"fields__2__date__parts": ("year",)},
        {"fields__3__kind": "text"},
        {"blocking": ()},
        {"blocking__0__name": "other"},
        {"blocking__1__keys__0__prefix": 4},
        {"blocking__0__keys__0__part": "month"},
    ],
)
def test_what_must_be_signed_again(change: dict[str, Any]) -> None:
    assert encoding_digest(example(**change)) != encoding_digest(example())
    assert specification_digest(example(**change)) != specification_digest(example())


def test_another_unicode_table_is_another_encoding(monkeypatch: MonkeyPatch) -> None:
    before = example()
    encoding, whole = encoding_digest(before), specification_digest(before)
    monkeypatch.setattr(unicodedata, "unidata_version", "1.1.5")
    assert encoding_digest(before) != encoding
    assert specification_digest(before) == whole


def test_the_specification_digest_is_as_documented() -> None:
    # Made by hand from the documented form: domain, a zero byte, canonical JSON.
    content = canonical_json(example().model_dump(mode="json"))
    assert specification_digest(example()) == hashlib.sha256(b"gemel specification digest 1\x00" + content).digest()
    assert content.startswith(
        b'{"assessment":null,"blocking":[{"canopies":null,"keys":[{"field":"date_of_birth","part":"year",'
    )


def test_a_cap_on_requested_rows_enters_the_specification_digest_alone() -> None:
    text = BLOCK_KEYED
    plain = load_specification(text)
    same = load_specification(f"{text}resolution: {{max_joins: {MAX_JOINS}, max_requested: null}}\n")
    others = [load_specification(f"{text}resolution: {{{cap}}}\n") for cap in ("max_joins: 0.1", "max_requested: 0.3")]
    assert specification_digest(same) == specification_digest(plain)
    assert len({specification_digest(spec) for spec in (plain, *others)}) == 3
    assert {encoding_digest(spec) for spec in (plain, *others)} == {encoding_digest(plain)}


def test_exact_probabilities_enter_the_digest_where_they_are_granted() -> None:
    digests = {specification_digest(example(release__exact_probabilities=who)) for who in ("none", "alice", "both")}
    assert len(digests) == 3


def test_rules_that_carole_forms_alone_need_no_new_signatures() -> None:
    alone = [
        {"name": "alike", "lsh": {"field": "surname", "bands": 10, "bits": 12}},
        {"name": "canopies", "canopies": {"field": "surname"}},
        {"name": "tree", "similar": {"field": "surname"}},
    ]
    data = example().model_dump()
    more = Specification.model_validate({**data, "blocking": [*data["blocking"], *alone]})
    assert encoding_digest(more) == encoding_digest(example())
    assert specification_digest(more) != specification_digest(example())
    limited = example(blocking__0__limit=1000, blocking__0__split="surname")
    assert encoding_digest(limited) == encoding_digest(example())


def test_canonical_json() -> None:
    assert canonical_json({"b": [1, 0.1, None, True], "a": "é"}) == '{"a":"é","b":[1,0.1,null,true]}'.encode()
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"a": float("nan")})
