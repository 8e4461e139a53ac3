"""A live project by `tryst.Client` alone, of mode block_keyed; the linked file of the shares that services wrote."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

import tryst
from tests.e2e.deployment import BOBS_NAMES, Deployment, people, specification
from tryst.common.errors import ErrorCode
from tryst.common.parties import Side
from tryst.coordinator.demonstration.people import IDENTIFIER, TRUTH

PROJECT = "by-client"
TEXT = specification(
    PROJECT,
    more="""\
blocking:
  - {name: born, keys: [{field: born}]}
  - {name: names, keys: [{field: surname}, {field: given_name, prefix: 1}]}
release: {alice: pairs, bob: pairs, coordinator: statistics, exact_probabilities: alice}
""",
).replace("mode: open", "mode: block_keyed")


@pytest.mark.slow
def test_from_a_specification_to_the_linked_file(deploy: Callable[..., Deployment]) -> None:
    files = people(120, 60, seed=5)
    made = deploy(TEXT, files=files)
    made.processes("carole", "alice", "bob")
    with tryst.Client(made.coordinator_yaml) as client:
        assert client.projects().is_empty()
        created = client.create(TEXT)
        assert (created.project, created.state, created.links) == (PROJECT, "waits for approvals", None)
        with pytest.raises(tryst.TrystError, match="another specification") as caught:
            client.approve(PROJECT, TEXT.replace("results_days: 30", "results_days: 31"))
        assert caught.value.code is ErrorCode.SPECIFICATION
        client.approve(PROJECT, TEXT)
        with pytest.raises(tryst.TrystError, match="no run yet"):
            client.wait(PROJECT)
        client.wait(PROJECT, "contributed; ready for a run", seconds=240)
        run = client.start(PROJECT)
        done = client.wait(PROJECT)
        assert done.run == run
        assert done.links is not None
        assert client.projects().row(0, named=True)["links"] == done.links
        results = client.results(PROJECT)
        assert results.statistics.linkage.links == done.links
        assert "srcdoc" in results._repr_html_()
        assert tryst.check(client.specification(PROJECT)).specification_digest == tryst.check(TEXT).specification_digest
        made.eventually(lambda: all((made.folders[side] / "results" / PROJECT / run).is_dir() for side in Side))
    with pytest.raises(tryst.TrystError, match="not connected"):
        client.projects()

    paths = {}
    for side in Side:
        paths[side] = made.root / f"{side}-own.csv"
        files[side].write_csv(paths[side])
    own = {
        "alice": tryst.OwnFile(paths[Side.ALICE], IDENTIFIER, [TRUTH]),
        "bob": tryst.OwnFile(paths[Side.BOB], BOBS_NAMES[IDENTIFIER], [TRUTH]),
    }
    shares = {str(side): made.folders[side] / "results" / PROJECT / run for side in Side}
    joined = tryst.join(shares, own)
    assert joined.frame.height == done.links
    right = joined.frame.select((pl.col(f"{TRUTH}_alice") == pl.col(f"{TRUTH}_bob")).mean()).item()
    assert right > 0.95
    assert joined.provenance is not None
    assert (joined.provenance.run, joined.provenance.exact) == (run, True)
    # Alice has exact probabilities and Bob means of classes: the linked file has the exact ones.
    exact = pl.read_parquet(shares["alice"] / "links.parquet").sort("link_id")["link_probability"]
    assert joined.frame["link_probability"].equals(exact)
    every = tryst.join(shares, table="pairs").frame
    assert every["linked"].sum() == done.links
