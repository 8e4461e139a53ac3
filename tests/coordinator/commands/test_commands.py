"""The commands as a new user meets them: help for everything, and errors that state what, where and what to do.

What whole linkages print is tested in ``tests/e2e``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import polars as pl
import pytest
import typer

from gemel.command import SUBCOMMANDS, app, subcommand
from gemel.common.parties import PARTIES
from gemel.coordinator.demonstration.people import TRUTH, two_files
from tests.specifications import heading
from tests.typed import typed


def every_command() -> Iterator[tuple[str, ...]]:
    def below(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        yield path
        for name, child in getattr(command, "commands", {}).items():
            yield from below(child, (*path, name))

    return below(GEMEL, ())


GEMEL = typer.main.get_command(app)
GEMEL.commands = {name: subcommand(name) for name in GEMEL.commands}  # type: ignore[attr-defined]
COMMANDS = list(every_command())


def test_all_subcommands_are_there() -> None:
    assert {path[0] for path in COMMANDS if path} == set(SUBCOMMANDS)
    assert len(COMMANDS) > 30


def test_the_table_has_the_first_sentence_of_each_commands_help() -> None:
    for name, listed in SUBCOMMANDS.items():
        whole = " ".join((subcommand(name).help or "").split("\n\n")[0].split())
        assert listed.help == re.split(r"(?<=\.) (?=[A-Z])", whole)[0], name


def test_every_command_and_option_is_explained() -> None:
    for path in COMMANDS:
        command = GEMEL
        context = click.Context(command)
        for name in path:
            command = command.commands[name]  # type: ignore[attr-defined]
            context = click.Context(command, parent=context)
        assert len(command.help or "") > 25, f"{path} does not explain what it does"
        for parameter in command.get_params(context):
            # By its kind: typer's options may be of a click of its own.
            if parameter.param_type_name == "option" and parameter.name != "help":
                assert parameter.help, f"--{parameter.name} of {path} is not explained"  # type: ignore[attr-defined]


def test_help_as_it_is_printed(tmp_path: Path) -> None:
    printed = typed("--help", folder=tmp_path)
    for name in SUBCOMMANDS:
        assert re.search(rf"\b{name}\b", printed)
    assert "Start with" in printed
    assert "--truth-alice" in typed("rehearse", "--help", folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


BAD = """\
version: 2
project: Bad Name
mode: closed
custodians: {alice: {identifier: x}}
fields:
  - {name: a, kind: nam, bits: 100}
  - {name: b, kind: date}
blocking:
  - {name: r, keys: [{field: zz}]}
links: {threshold: 2}
bogus: 1
"""


def test_all_validation_errors_of_a_specification_at_once(tmp_path: Path) -> None:
    (tmp_path / "linkage.yaml").write_text(BAD)
    printed = typed("spec", "check", "linkage.yaml", folder=tmp_path, status=1)
    for words in (
        "line 1, version: must be 1",
        "retention: is missing",
        "line 2, project:",
        "line 3, mode: must be open",
        "custodians.bob: is missing",
        "line 6, fields[0].kind:",
        "did you mean name?",
        "line 6, fields[0].bits: must be a multiple of 64",
        "line 7, fields[1].date:",
        "line 9, blocking[0].keys[0].field:",
        "line 10, links.threshold:",
        "line 11, bogus: unknown key",
    ):
        assert words in printed
    assert "11 errors" in printed or printed.count(" - ") >= 11


FILES = ("--alice", "alice.csv", "--bob", "bob.csv")
REHEARSE = ("rehearse", "good.yaml", *FILES, "--out", "out")
ONE_FIELD = ("model: not identifiable from one field (surname)", "compare more fields")
TRUTH_OF_BOTH = ("the truth needs a column of each file", "--truth-alice and --truth-bob")


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (("spec", "check", "none.yaml"), ("none.yaml: the specification cannot be read", "no such file")),
        (
            ("spec", "draft", "--alice", "none.csv", "--bob", "bob.csv"),
            ("none.csv: cannot be read: no such file", "check the path"),
        ),
        (("spec", "draft", *FILES, "--out", "alice.csv"), ("alice.csv: the file exists", "--force")),
        (("spec", "draft", *FILES, "--out", "nowhere/l.yaml"), ("nowhere/l.yaml: no such file or directory",)),
        (
            ("rehearse", "good.yaml", "--alice", "none.csv", "--bob", "bob.csv", "--out", "out"),
            ("none.csv: there is no such file", "check --alice"),
        ),
        ((*REHEARSE, "--memory", "lots"), ("--memory: expected a size, got 'lots'", "write 512MiB or 3GiB")),
        ((*REHEARSE, "--truth-bob", "id"), TRUTH_OF_BOTH),
        (("spec", "draft", *FILES, "--truth-alice", "id"), TRUTH_OF_BOTH),
        (("spec", "check", "one.yaml"), ONE_FIELD),
        (("rehearse", "one.yaml", *FILES, "--out", "out"), ONE_FIELD),
        (
            (*REHEARSE, "--truth-alice", "surname", "--truth-bob", "id"),
            (
                "field surname: the truth must not be linked by: the links would be right and prove nothing",
                "got the column of the truth, alice's 'surname', compared and blocked by (rule names)",
                "draft again with --truth-alice and --truth-bob",
            ),
        ),
        (("init", "parties", "--address", "nonsense"), ("--address: expected host:port", "got 'nonsense'", "write")),
        (("alice", "status"), ("alice.yaml: the configuration cannot be read", "--config")),
        (("project", "status"), ("coordinator.yaml: the configuration cannot be read", "--config")),
        (("carole", "check"), ("carole.yaml: the configuration cannot be read", "--config")),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else None,
)
def test_an_error_says_what_where_and_what_to_do(
    tmp_path: Path, arguments: tuple[str, ...], reported: tuple[str]
) -> None:
    further = {"given_name": ["Ann", "Bea"], "city": ["Ulm", "Ely"]}
    pl.DataFrame({"id": ["1", "2"], "surname": ["Smith", "Jones"], **further}).write_csv(tmp_path / "alice.csv")
    pl.DataFrame({"id": ["7", "8"], "surname": ["Smith", "Janes"], **further}).write_csv(tmp_path / "bob.csv")
    for name, fields in (("one", ["surname"]), ("good", ["surname", "given_name", "city"])):
        listed = ", ".join(f"{{name: {field}, kind: name}}" for field in fields)
        (tmp_path / f"{name}.yaml").write_text(
            heading(name) + f"fields: [{listed}]\nblocking: [{{name: names, keys: [{{field: surname}}]}}]\n"
            "retention: {uploads_days: 7, results_days: 30, maps_days: 90}\n"
        )
    before = sorted(tmp_path.iterdir())
    printed = typed(*arguments, folder=tmp_path, status=1)
    for words in reported:
        assert words in printed
    assert sorted(tmp_path.iterdir()) == before, "nothing is left behind"


def test_a_draft_checks_and_has_no_value_of_the_data(tmp_path: Path) -> None:
    names = [f"Quaxadovich{message}" for message in "abcdefghijklmnopqrst"]
    for name in ("alice.csv", "bob.csv"):
        pl.DataFrame(
            {
                "id": [f"{name}-{n}" for n in range(20)],
                "surname": names,
                "date_of_birth": [f"19{n + 30}-05-17" for n in range(20)],
                "sex": ["f", "m"] * 10,
            }
        ).write_csv(tmp_path / name)
    printed = typed("spec", "draft", "--alice", "alice.csv", "--bob", "bob.csv", folder=tmp_path)
    assert "open mode" in printed
    assert "Next" in printed or "gemel rehearse linkage.yaml" in printed
    text = (tmp_path / "linkage.yaml").read_text()
    assert "Quaxadovich" not in text + printed
    assert "-05-17" not in text + printed
    checked = typed("spec", "check", "linkage.yaml", folder=tmp_path)
    assert "No issues" in checked
    assert re.search(r"specification digest +[0-9a-f]{64}", checked)
    estimated = r"Estimate for files of 20 and 20 records; seconds of one core:\s+Alice +sends [0-9.]+ KiB"
    assert re.search(estimated, printed)
    assert "compares all 400 pairs" in printed
    assert "Estimate" not in checked


def test_what_is_too_large_is_refused_before_anything_is_signed(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for name, frame in zip(("alice.csv", "bob.csv"), two_files(300, 300, 150, 0.2, rng), strict=True):
        frame.drop(TRUTH).write_csv(tmp_path / name)
    files = ("--alice", "alice.csv", "--bob", "bob.csv")
    drafting = ("spec", "draft", *files, "--block", "--no-gate", "--max-upload", "4MiB", "--rows", 20_000)
    printed = typed(*drafting, folder=tmp_path, status=1)
    assert "candidate pairs (" in printed
    assert "alice's contribution: Carole takes at most 4 MiB, and refuses it after it was signed, got " in printed
    assert "Read it, then try it out" not in printed
    printed = typed("spec", "check", "linkage.yaml", "--rows", 9_000_000, folder=tmp_path, status=1)
    assert "Estimate for files of 9,000,000 and 9,000,000 records, upper bounds" in printed
    assert "Carole takes at most 5,000,000 rows of a file" in printed
    printed = typed("spec", "check", "linkage.yaml", *files, "--rows", 3_000, folder=tmp_path)
    assert "links in at most" in printed
    printed = typed("spec", "check", "linkage.yaml", "--alice", "alice.csv", folder=tmp_path, status=1)
    assert "--bob: pairs are counted in two files, got none; give both, or only --rows" in printed


def test_a_draft_repeats_byte_for_byte(tmp_path: Path) -> None:
    """With its gate, on grown files: of the same files, options and seed; the draft states the seed.

    Small files: what could differ from one run to the next, draws and orders, does not depend on their size.
    """
    files = two_files(40, 40, 20, 0.2, np.random.default_rng(1))
    for name, frame in zip(("alice.csv", "bob.csv"), files, strict=True):
        frame.drop(TRUTH).write_csv(tmp_path / name)
    given = ["spec", "draft", "--alice", "alice.csv", "--bob", "bob.csv", "--block", "--rows", "50"]
    texts = {}
    for out, seed in (("first", 1), ("again", 1), ("other", 2)):
        typed(*given, "--seed", seed, "--out", f"{out}.yaml", folder=tmp_path)
        texts[out] = (tmp_path / f"{out}.yaml").read_bytes()
    assert texts["first"] == texts["again"]
    plain = {out: " ".join(text.decode().split()).replace("# ", "") for out, text in texts.items()}
    assert "Measured on files of 50 records, drawn by --seed 1." in plain["first"]
    assert "drawn by --seed 2." in plain["other"]
    assert plain["other"].replace("--seed 2", "--seed 1") != plain["first"]


def test_a_live_project_with_no_service_running(tmp_path: Path) -> None:
    """Everything is configured, and no service runs: each command names the one it needs, and what to do."""
    printed = typed("init", "parties", "--address", "127.0.0.1:1", folder=tmp_path)
    for party in PARTIES:
        assert str(tmp_path / "parties" / party) in printed
    assert "gemel carole serve" in printed
    printed = typed("project", "status", "--config", "parties/coordinator/coordinator.yaml", folder=tmp_path, status=1)
    assert "127.0.0.1:1: the service does not answer" in printed
    assert "check that it runs" in printed
    printed = typed("alice", "status", "--config", "parties/alice/alice.yaml", folder=tmp_path, status=1)
    assert "Alice's service is not running; start it with `gemel alice serve`" in printed
    printed = typed("alice", "serve", "--config", "parties/bob/bob.yaml", folder=tmp_path, status=1)
    assert "expected a certificate for the role custodian-a, got custodian-b" in printed
    printed = typed("init", "parties", "--address", "127.0.0.1:1", folder=tmp_path, status=1)
    assert "keys are never overwritten" in printed
