"""Small runs of benchmarks: their programs work, and print what they state."""

from __future__ import annotations

import re

import pytest

from benchmarks import compare, encode
from benchmarks.hardening import Variant, public_names, variants, without_addresses
from benchmarks.modes import FEBRL, PEOPLE
from gemel.common.specification import encoding_digest, load_specification
from gemel.common.specification.model.fields import MAX_LISTED
from gemel.coordinator.draft.specification_text import dump_specification


@pytest.mark.parametrize("peer", [None, lambda filters, threshold, k: len(filters[0]) * len(filters[1])])
def test_a_table_of_rates_is_printed(peer, capsys, monkeypatch):
    monkeypatch.setattr(compare, "_anonlink", lambda: peer)
    monkeypatch.setattr(compare, "_bit_arrays", lambda signatures: [row.tobytes() for row in signatures])
    monkeypatch.setattr(compare.metadata, "version", lambda name: "of a test")
    assert compare.main(["--rows", "700", "--rounds", "2", "--bits", "64", "512"]) == 0
    printed = capsys.readouterr().out
    for bits in (64, 512):
        for what in ("gemel, 1 thread", "gemel, 2 threads", "ratio of 2 threads to 1"):
            (found,) = re.findall(rf"^ +{bits} {what} +([\d.]+) +([\d.]+) +([\d.]+)$", printed, re.MULTILINE)
            median, minimum, maximum = map(float, found)
            assert 0 <= minimum <= median <= maximum
            assert maximum > 0
    assert ("ratio to anonlink" in printed) == (peer is not None)
    assert ("is not installed" in printed) == (peer is None)


@pytest.mark.long
def test_it_measures_gemel_without_a_peer(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encode, "_peer_version", lambda python: None)
    monkeypatch.setattr(encode, "_signing", lambda rounds: None)
    assert encode.main(["--rows", "300", "--rounds", "1", "--threads", "1"]) == 0
    text = capsys.readouterr().out
    assert "only Gemel is measured" in text
    assert "300 records of 5 fields" in text
    assert "gemel, 1 core" in text
    assert "distinct signatures" in text


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
