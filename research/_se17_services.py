"""Smith and Elliot's files linked as the three services do it.

A draw is written as the two custodians' files and linked under a specification: read, cleaned and signed as a
custodian's service does, and linked by Carole's engine. Training records (Ext. EM +) and the network's own distribution
(GP) are files that the specification names by their digest.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import yaml
from numpy.typing import NDArray

from benchmarks._in_process import KEY, MEMORY
from gemel.carole.engine import Resources, link
from gemel.carole.engine.latent.refit import NOTHING_KNOWN, KnownRecords
from gemel.carole.engine.run.result import Linkage
from gemel.carole.engine.run.specified import plan_of
from gemel.carole.evaluation.link_quality import expected_precision_recall
from gemel.carole.fellegi_sunter.kinds import estimation
from gemel.common.parties import Side
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.specification import Specification, load_specification
from gemel.coordinator.demonstration.people.insured import driver_network
from gemel.custodian.encoding.categories import known_set
from gemel.custodian.encoding.records import encode_records
from gemel.custodian.source.cleaned_file import clean_file
from gemel.custodian.source.known_file import named_file, read_known_files
from gemel.records.registry import file_source
from research._networks import decomposable_model
from research._se17_study import ALICE, BOB, KEYS, PRECISION, Files


@dataclass(frozen=True)
class Setting:
    """What a specification says of the estimate: assignment, and what is believed of m of both fields."""

    title: str
    assignment: Literal["none", "one_to_one"]
    belief: Mapping[str, float]


NO_BELIEF: Mapping[str, float] = {"agreement": 0.5, "weight": 1.0}
"""As little as the library's EM believes of m by itself: one match, spread evenly over the levels."""

DEFAULT_BELIEF: Mapping[str, float] = {}

SETTINGS = (
    Setting("Each pair by itself, nothing believed of m: the paper's", "none", NO_BELIEF),
    Setting("Each pair by itself, with the default belief about m", "none", DEFAULT_BELIEF),
    Setting("One to one, with the default belief about m", "one_to_one", DEFAULT_BELIEF),
)

NO_LINKS = 1 - 1e-9
"""Threshold that next to no pair reaches. No area depends on it, and a report without links has none to explain, which
takes nine tenths of a run where the joint distribution has 138,240 cells."""

KNOWN = {"Ext. EM +": "training.csv", "GP": "joint.csv"}
"""What Alice knows beforehand, by method: a file that the specification names."""


@contextmanager
def settled(change: float) -> Iterator[None]:
    """Inside, the engine's second estimate ends at this change of the expected matches alone, after any rounds."""
    before = estimation.SETTLED, estimation.MAX_ROUNDS
    estimation.SETTLED, estimation.MAX_ROUNDS = change, 1_000_000
    try:
        yield
    finally:
        estimation.SETTLED, estimation.MAX_ROUNDS = before


def specification(setting: Setting, values: bool, known: Path | None = None) -> Specification:
    """The paper's linkage as a specification: two fields, equal or not, and the network's variables.

    `values`: whether there is the latent step; `known`: a file of Alice's with training records or a joint
    distribution.
    """
    network = driver_network()
    holders = {**dict.fromkeys(ALICE, "alice"), **dict.fromkeys(BOB, "bob"), KEYS[0]: "both"}
    content: dict[str, Any] = {
        "version": 1,
        "project": "smith-elliot",
        "mode": "open",
        "custodians": {"alice": {"identifier": "id"}, "bob": {"identifier": "id"}},
        "fields": [{"name": name, "kind": "category"} for name in KEYS],
        "model": {
            "scheme": "exact",
            "u": "all_pairs",
            "dependence": "none",
            "m_prior": [{"field": name, **setting.belief} for name in KEYS],
        },
        "links": {"assignment": setting.assignment, "threshold": NO_LINKS},
        "variables": [
            {"name": str(name), "holder": holders[str(name)], "categories": list(categories)}
            for name, categories in zip(network.names, network.categories, strict=True)
        ],
        "latent": {"keys": list(KEYS), "precision": PRECISION} if values else None,
        "retention": {"uploads_days": 7, "results_days": 30, "maps_days": 90},
    }
    spec = _loaded(content)
    if known is None:
        return spec
    return _loaded({**content, "latent": {**content["latent"], **yaml.safe_load(named_file(spec, known, "alice"))}})


def _loaded(content: Mapping[str, Any]) -> Specification:
    return load_specification(json.dumps(content), "the specification of the paper's linkage")


def custodian_files(files: Files) -> dict[Side, pl.DataFrame]:
    """A draw as the custodians' tables; a surname is its number, since only equality counts."""
    variables = files.values.variables
    return {
        side: _labelled(codes, [v for v, variable in enumerate(variables) if variable.holder in (side, "both")])
        for side, codes in zip(Side, (files.values.codes_a, files.values.codes_b), strict=True)
    }


def training_records(files: Files) -> pl.DataFrame:
    """The draw's training records, over the network's variables."""
    return _labelled(files.training, range(len(driver_network().names))).drop("id")


@cache
def network_cells() -> pl.DataFrame:
    """The network's distribution: every cell of positive probability, and its share."""
    network = driver_network()
    table = decomposable_model(network).marginal(list(network.names))
    cells = np.stack(np.unravel_index(np.arange(table.size), table.shape), axis=1)
    some = table.ravel() > 0
    shares = table.ravel()[some]
    return _labelled(cells[some], range(len(network.names))).drop("id").with_columns(share=shares / shares.sum())


def _labelled(codes: NDArray[np.integer], columns: Sequence[int]) -> pl.DataFrame:
    network = driver_network()
    found = {"id": [str(row) for row in range(len(codes))]}
    for v in columns:
        if v == len(network.names):
            found[KEYS[1]] = [f"name {code}" for code in codes[:, v]]
        else:
            found[str(network.names[v])] = np.array(network.categories[v], dtype=object)[codes[:, v]].tolist()
    return pl.DataFrame(found)


@dataclass(frozen=True)
class Draw:
    """A draw, written into a folder as the custodians' files."""

    files: Files
    folder: Path

    @classmethod
    def written(cls, files: Files, folder: Path) -> Draw:
        """Write it."""
        for side, frame in custodian_files(files).items():
            frame.write_csv(folder / f"{side}.csv")
        training_records(files).write_csv(folder / KNOWN["Ext. EM +"])
        network_cells().write_csv(folder / KNOWN["GP"])
        return cls(files, folder)

    def linked(self, method: str, setting: Setting) -> Linkage:
        """Linked by a method; rows of the linkage are those of the files."""
        known = self.folder / KNOWN[method] if method in KNOWN else None
        spec = specification(setting, method != "FS", known)
        plan = plan_of(spec)
        a, b = (self._signed(spec, side) for side in Side)
        records = NOTHING_KNOWN
        if known is not None and plan.latent is not None:
            read = read_known_files([known], spec, Side.ALICE)
            records = KnownRecords.of([known_set(each.places, each.counts, spec, KEY, 1) for each in read], plan.latent)
        return link(a, b, plan, Resources(MEMORY, 1), lambda stage, done: None, records)

    def area(self, linkage: Linkage) -> float:
        """Under expected precision and recall; the pairs that were not kept are one last class."""
        pairs, truth = linkage.pairs, self.files.truth
        n_a, n_b = self.files.values.n_a, self.files.values.n_b
        found = truth[pairs.row_a.astype(np.int64) * n_b + pairs.row_b]
        probability = np.round(pairs.link_probability, 12)
        return expected_precision_recall(probability, found, int(truth.sum()), n_a * n_b - len(found)).auc

    def _signed(self, spec: Specification, side: Side) -> SignatureSet:
        cleaned = clean_file(file_source(self.folder / f"{side}.csv"), spec, side)
        return encode_records(cleaned.columns, spec, KEY, 1, shuffle=np.arange, variables=cleaned.variables).sets[0]
