"""A folder that is written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from gemel.common.durable import whole_folder


@pytest.mark.parametrize("there", [False, True])
def test_its_files_have_their_names_at_the_end(there: bool, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    if there:
        out.mkdir(parents=True)
        for name in ("kept", "written"):
            (out / name).write_text("before")
    with whole_folder(out) as folder:
        (folder / "written").write_text("now")
        assert out.exists() == there
    assert (out / "written").read_text() == "now"
    assert sorted(file.name for file in out.iterdir()) == (["kept", "written"] if there else ["written"])
    assert list(out.parent.iterdir()) == [out]


def test_a_block_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fails() -> None:
        with whole_folder(tmp_path / "out") as folder:
            (folder / "half").write_text("")
            raise SystemExit(143)

    with pytest.raises(SystemExit):
        fails()
    assert list(tmp_path.iterdir()) == []
