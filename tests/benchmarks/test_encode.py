"""The benchmark of encoding runs through, with whatever peer there is, and counts what its header names."""

from __future__ import annotations

import pytest

from benchmarks import encode


@pytest.mark.long
def test_it_measures_gemel_without_a_peer(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encode, "_peer_version", lambda python: None)
    monkeypatch.setattr(encode, "_signing", lambda rounds, threads: None)
    assert encode.main(["--rows", "300", "--rounds", "1", "--threads", "1"]) == 0
    text = capsys.readouterr().out
    assert "only Gemel is measured" in text
    assert "300 records of 5 fields" in text
    assert "gemel, 1 core" in text
    assert "distinct signatures" in text
