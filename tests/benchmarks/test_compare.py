"""The benchmark of raw comparison runs and prints a rate for each length and number of threads."""

from __future__ import annotations

import re

import pytest

from benchmarks import compare


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
