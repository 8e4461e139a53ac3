"""``gemel duplicates`` on a file of another program: its form is stated, and what is given wrongly is refused."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from gemel.command import app
from gemel.common.errors import ErrorCode, GemelError
from tests.specifications import heading

FIELDS = ", ".join(f"{{name: {name}, kind: name}}" for name in ("surname", "given", "town"))


def test_the_form_is_stated_and_a_wrong_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "linkage.yaml").write_text(
        f"{heading('own')}fields: [{FIELDS}]\nretention: {{uploads_days: 1, results_days: 1, maps_days: 1}}\n"
    )
    (tmp_path / "people.csv").write_bytes("id;surname;given;place\n1;Müller;Ann;Köln\n".encode("cp1252"))
    arguments = ["duplicates", str(tmp_path / "people.csv"), "--spec", str(tmp_path / "linkage.yaml"), "--out", "out"]
    found = CliRunner().invoke(app, arguments)
    assert 'people.csv is read as cp1252, separated by ";"' in " ".join(found.output.split())
    assert isinstance(found.exception, GemelError)
    assert "there is no column 'town'" in str(found.exception), "the other columns were found"
    wrong = CliRunner().invoke(app, [*arguments, "--encoding", "utf-8"])
    assert isinstance(wrong.exception, GemelError)
    assert wrong.exception.code is ErrorCode.TEXT_ENCODING
