"""What the advice on words finds, and what it leaves; that a text has them fails no test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture import wording
from tests.architecture.vocabulary import table
from tests.architecture.wording import identifiers, of_python, of_text, wrong_identifiers, wrong_prose


def test_a_refused_word_is_found_wherever_it_stands_in_an_identifier() -> None:
    source = "def put_paper(x):\n    return f'{self.told[0]} {x}', PutPaperRequest, tolderance\n"
    assert [line.partition(": not")[0] for line in wrong_identifiers(identifiers(source))] == [
        "line 1: put_paper",
        "line 2: told",
        "line 2: PutPaperRequest",
    ]


def test_a_refused_word_is_found_wherever_it_stands_in_prose() -> None:
    word = min(table("In prose").refused)
    source = (
        f'"""A docstring.\n\n{word.title()} below it.\n"""\n'
        f"{word} = un{word}  # a comment, {word}\n"
        f"print(f'{{{word}}} in the text: \\n{word}', '{word}ing')\n"
    )
    assert [line.partition(" but")[0] for line in wrong_prose(of_python(source))] == [
        f"line {number}: not `{found}`" for number, found in ((3, word.title()), (5, word), (6, word))
    ]
    assert len(wrong_prose(of_text(f"# A page\n\nIt is {word}, {word} twice."))) == 2


def test_what_is_excepted_stands_in_quotes_or_as_code() -> None:
    assert table("In prose").excepted
    for phrase in table("In prose").excepted:
        assert not wrong_prose(of_text(f"`{phrase}` is as good as '{phrase}' and \"{phrase}\""))
        assert not wrong_prose(of_python(f"missing = ['{phrase}', 2]"))


def test_the_command_prints_the_file_and_fails_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "risk").mkdir()
    (tmp_path / "risk/a.py").write_text("told = 1  # anew\n")
    (tmp_path / "README.md").write_text("It was said.\n")
    (tmp_path / "pyproject.toml").write_text("")
    monkeypatch.setattr(wording, "REPOSITORY", tmp_path)
    wording.main()
    assert [line.partition(" but")[0] for line in capsys.readouterr().out.splitlines()] == [
        "README.md: line 1: not `said`",
        "risk/a.py: line 1: not `anew`",
        "risk/a.py: line 1: told: not `told`",
    ]
