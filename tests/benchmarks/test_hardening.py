"""The table of hardening options: every line of it is a specification that works."""

from __future__ import annotations

import pytest

from benchmarks.hardening import Variant, public_names, variants, without_addresses
from benchmarks.modes import FEBRL, PEOPLE
from gemel.common.specification import dump_specification, encoding_digest, load_specification
from gemel.common.specification.model.fields import MAX_LISTED


@pytest.mark.parametrize("text", [FEBRL, PEOPLE], ids=["febrl", "people"])
def test_every_line_is_another_specification_that_can_be_written_and_read(text: str) -> None:
    spec = load_specification(text)
    made = {variant.name: variant.of(spec) for variant in variants()}
    assert len(made) == len(list(variants())), "no two lines have one name"
    assert made["mode open"] == spec
    for changed in made.values():
        assert load_specification(dump_specification(changed)) == changed
        assert without_addresses(changed).mode == changed.mode


def test_salts_and_lists_change_what_is_sent() -> None:
    spec = load_specification(PEOPLE)
    changed = [each.of(spec) for each in variants() if "salted" in each.name or "similar" in each.name]
    assert len({encoding_digest(each) for each in [spec, *changed]}) == 1 + len(changed) > 4
    keys = Variant("", keys={"names": [{"field": "sex"}]}).of(spec).blocking[1].keys
    assert [key.field for key in keys] == ["surname", "given_name", "sex"]


def test_public_names_are_without_the_commonest() -> None:
    names = public_names("surname")
    assert len(names) == 10_000 < MAX_LISTED
    assert "Smith" not in names
    assert not {"Mary", "James"} & set(public_names("female", "male"))
