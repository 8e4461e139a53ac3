"""Long computations that are stopped: nothing of them is left.

Each is signalled when it is at work: when it has printed what it does, or has computed for longer than a start takes.
The first tier has one of those that print nothing, and two that print.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from gemel.risk.keyvars import folder as keyvars_folder
from gemel.risk.keyvars.environment import Environment
from tests.e2e.deployment import people, specification
from tests.e2e.interrupted.terminal import (
    INT,
    TERM,
    Command,
    Signal,
    Start,
    assert_leaves_nothing,
    command_of,
    computes,
    interrupts,
    prints,
)

LEAVES, VARIABLES = 17, 24
"""Of the environment: 2**16 harmonisations of each variable."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files on which commands work for long."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(1)
    n = 20_000
    keys = {f"k{number}": rng.integers(0, 12, n) for number in range(10)}
    pl.DataFrame(keys).write_csv(folder / "records.csv")
    sums = {f"k{number}": rng.integers(0, 14, 6_000) for number in range(3)}
    values = {"value": rng.lognormal(3, 2, 6_000).round(2), "unit": rng.integers(0, 3_000, 6_000)}
    pl.DataFrame(sums | values).write_csv(folder / "sums.csv")
    names = {name: [f"{name}{level}" for level in range(12)] for name in ("a", "b", "c")}
    whole = rng.poisson(0.5, (12, 12, 12))
    release = {
        "name": "margins",
        "variables": [{"name": name, "levels": levels} for name, levels in names.items()],
        "tables": [
            {"name": "".join(pair), "variables": list(pair), "counts": whole.sum(axis=axis).tolist()}
            for pair, axis in ((("a", "b"), 2), (("b", "c"), 0), (("a", "c"), 1))
        ],
    }
    (folder / "release.json").write_text(json.dumps(release))
    for side, frame in people(10_000, 5_000).items():
        frame.write_csv(folder / f"{side}.csv")
    (folder / "linkage.yaml").write_text(specification("stopped", bits=1024))
    keyvars_folder.create(folder / "environment")
    with keyvars_folder.changed(folder / "environment") as environment:
        code_in_all_ways(environment)
    return folder


def code_in_all_ways(environment: Environment) -> None:
    """A form with all leaves, and one for each two neighbours, which has these together and the others apart."""
    leaves = [f"c{leaf}" for leaf in range(LEAVES)]
    for form in range(LEAVES):
        environment.add_form(f"f{form}")
    for variable in map(str, range(VARIABLES)):
        environment.add_variable(variable)
        environment.code("f0", variable, leaves)
        for form in range(1, LEAVES):
            name, pair = f"{form} and before", leaves[form - 1 : form + 1]
            environment.edit(variable, lambda graph, name=name, pair=pair: graph.aggregate(name, pair))  # type: ignore[misc]
            environment.code(f"f{form}", variable, [name, *leaves[: form - 1], *leaves[form + 1 :]])


LONG = pytest.mark.long
QUICK = ("risk protect", "risk tables", "intrude")
KEYS = ",".join(f"k{number}" for number in range(10))
COMPUTATIONS = [
    (f"risk identify {{0}}/records.csv --keys {KEYS} --fraction .1 --json o.json", prints("special uniques"), TERM),
    ("risk protect {0}/records.csv --keys k0,k1,k2,k3,k4,k5 --fraction .1 --k 5 --out o.csv", prints("..."), INT),
    ("risk magnitude {0}/sums.csv --by k0,k1,k2 --value value --unit unit --method exact --json -", computes, TERM),
    ("risk tables {0}/release.json --seconds 600 --out o.html", prints("..."), INT),
    (f"risk models {{0}}/records.csv --variables {KEYS} --moves 100000000 --json o.json", computes, TERM),
    ("keyvars analyse f0 --environment {0}/environment --json o.json", computes, INT),
    ("intrude {0}/records.csv {0}/records.csv --json o.json", computes, INT),
    ("duplicates {0}/alice.csv --spec {0}/linkage.yaml --out o", prints("tables"), TERM),
    ("spec draft --alice {0}/alice.csv --bob {0}/bob.csv --block --out o.yaml", computes, INT),
    ("alice leakage {0}/linkage.yaml --records {0}/alice.csv --json o.json", computes, TERM),
]


@interrupts(*[arguments for arguments, _, _ in COMPUTATIONS])
@pytest.mark.parametrize(
    ("arguments", "at_work", "number"),
    [
        pytest.param(*each, id=name, marks=() if name in QUICK else LONG)
        for each in COMPUTATIONS
        for name in [command_of(each[0])]
    ],
)
def test_a_computation_leaves_nothing(
    start: Start, files: Path, arguments: str, at_work: Callable[[Command], bool], number: Signal
) -> None:
    assert_leaves_nothing(start(arguments.format(files)), at_work, number)
