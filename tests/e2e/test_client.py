"""A live project by the program of docs/api.md, of mode block_keyed; the linked file of the shares of services."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import gemel
from gemel.common.errors import ErrorCode
from gemel.common.parties import Side
from gemel.coordinator.demonstration.people import IDENTIFIER, TRUTH
from tests.carole.refusals import refusal
from tests.e2e.deployment import BOBS_NAMES, TWO_RULES, Deployment, people, specification

PROJECT = "cohort"
RELEASE = "release: {alice: pairs, bob: pairs, coordinator: statistics, exact_probabilities: alice}\n"
TEXT = specification(PROJECT, more=TWO_RULES + RELEASE, mode="block_keyed")


def page_steps() -> list[str]:
    """The program of a live project, as the page has it: what it connects by, then statement by statement."""
    page = (Path(__file__).resolve().parents[2] / "docs/api.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n(with gemel\.Client.*?)^```", page, re.M | re.S)
    (block,) = ast.parse(program).body
    assert isinstance(block, ast.With)
    return [ast.unparse(part) for part in (block.items[0].context_expr, *block.body)]


@pytest.mark.long
def test_from_a_specification_to_the_linked_file(
    deploy: Callable[..., Deployment], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = people(120, 60, seed=5)
    made = deploy(TEXT, files=files)
    made.processes("carole", "alice", "bob")
    monkeypatch.chdir(made.folders["coordinator"])
    Path("linkage.yaml").write_text(TEXT)
    connected, create, approve, contributed, *rest = page_steps()
    with eval(connected, {"gemel": gemel}) as client:  # noqa: S307 - the page's own, here and below
        found = {"client": client}
        assert client.projects().is_empty()
        exec(create, found)  # noqa: S102
        created = client.status(PROJECT)
        assert (created.project, created.state, created.links) == (PROJECT, "waits for approvals", None)
        with refusal(ErrorCode.SPECIFICATION, "another specification"):
            client.approve(PROJECT, TEXT.replace("results_days: 30", "results_days: 31"))
        exec(approve, found)  # noqa: S102
        with pytest.raises(gemel.GemelError, match="no run yet"):
            client.wait(PROJECT)
        exec(contributed, found)  # noqa: S102
        for step in rest:
            exec(step, found)  # noqa: S102
        assert Path("report.html").is_file()
        done = client.status(PROJECT)
        run = done.run
        assert done.links is not None
        assert client.projects().row(0, named=True)["links"] == done.links
        results = client.results(PROJECT)
        assert results.statistics.linkage.links == done.links
        assert "srcdoc" in results._repr_html_()
        assert gemel.check(client.specification(PROJECT)).specification_digest == gemel.check(TEXT).specification_digest
        made.eventually(lambda: all((made.folders[side] / "results" / PROJECT / run).is_dir() for side in Side))
    with pytest.raises(gemel.GemelError, match="not connected"):
        client.projects()

    paths = {}
    for side in Side:
        paths[side] = made.root / f"{side}-own.csv"
        files[side].write_csv(paths[side])
    own = {
        "alice": gemel.OwnFile(paths[Side.ALICE], IDENTIFIER, [TRUTH]),
        "bob": gemel.OwnFile(paths[Side.BOB], BOBS_NAMES[IDENTIFIER], [TRUTH]),
    }
    shares = {str(side): made.folders[side] / "results" / PROJECT / run for side in Side}
    joined = gemel.join(shares, own)
    assert joined.frame.height == done.links
    right = joined.frame.select((pl.col(f"{TRUTH}_alice") == pl.col(f"{TRUTH}_bob")).mean()).item()
    assert right > 0.95
    assert joined.provenance is not None
    assert (joined.provenance.run, joined.provenance.exact) == (run, True)
    # Alice has exact probabilities and Bob means of classes: the linked file has the exact ones.
    exact = pl.read_parquet(shares["alice"] / "links.parquet").sort("link_id")["link_probability"]
    assert joined.frame["link_probability"].equals(exact)
    every = gemel.join(shares, table="pairs").frame
    assert every["linked"].sum() == done.links
