"""What each party has of a run in mode block_keyed, decided by agreement alone and with the extended latent step.

Two files are cleaned, signed, compared and resolved as the parties do it, twice over the same rows: without the section
`latent`, and with it. The attacks of `_leakage_latent` read from it what a party has, and judge by the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks._block_keyed import Files, compared
from benchmarks._block_keyed import encoded as encode
from benchmarks._in_process import no_progress
from benchmarks.modes import people
from gemel.carole.engine import LinkagePlan
from gemel.carole.engine.decision.coded_links import micro_aggregated
from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.resolution.resolution_exchange import Resolved, ResolvedHandles, decide
from gemel.carole.engine.resolution.resolution_request import ResolutionRequest
from gemel.carole.engine.run.specified import plan_of
from gemel.common.keys.derivation import Seed
from gemel.common.parties import Side
from gemel.common.signatures.layout import CODES
from gemel.common.signatures.signature_sets import VariableCodes
from gemel.common.specification import Specification
from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.demonstration.people.insured import KEY, insured_specification, trait_variables, with_traits
from gemel.custodian.encoding.categories import Relabelling
from gemel.custodian.encoding.records import Encoded


@dataclass(frozen=True)
class Run:
    """A request and its decision; by side, the signed row of each requested pair and the record that it is of."""

    found: Candidates
    rows: Mapping[Side, NDArray[np.int32]]
    records: Mapping[Side, NDArray[np.int64]]
    resolved: Resolved

    @cached_property
    def links(self) -> NDArray[np.int64]:
        """Records of the links, shape (n_links, 2)."""
        linkage = self.resolved.linkage
        place = self.resolved.order[linkage.links]
        return np.column_stack([self.records[side][place] for side in Side])

    @cached_property
    def vector(self) -> NDArray[np.int64]:
        """The comparison vector of each requested pair, as a row of `vectors`."""
        return self._vectors[1][self.found.pattern]

    @property
    def vectors(self) -> NDArray[np.int8]:
        """Different comparison vectors, shape (n_vectors, n_fields)."""
        return self._vectors[0]

    @cached_property
    def _vectors(self) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
        distinct, inverse = np.unique(self.found.patterns.gamma, axis=0, return_inverse=True)
        return distinct, inverse.ravel()

    @cached_property
    def agreement(self) -> NDArray[np.float64]:
        """The match weight of each comparison vector by agreement alone, in bits; NaN where no pair was asked for."""
        linkage = self.resolved.linkage
        weight = np.full(len(self.vectors), np.nan)
        bits = linkage.pairs.value_bits
        weight[self.vector[self.resolved.order]] = linkage.pairs.weight - (0.0 if bits is None else bits)
        return weight

    @property
    def log_prior_odds(self) -> float:
        """Log odds of a match before anything is compared, as the statistics show them."""
        p = self.resolved.linkage.model.p
        return float(np.log(p) - np.log1p(-p))

    @property
    def shown_probability(self) -> NDArray[np.float64]:
        """Probability of each link as the resolver states it to Carole."""
        linkage = self.resolved.linkage
        return micro_aggregated(np.clip(linkage.pairs.link_probability[linkage.links], 0.0, 1.0))


@dataclass(frozen=True)
class Case:
    """Two files with variables, encoded once and linked with and without values.

    By side: `encoded`, `codes` of every record, shape (n_records, n_variables), -1 for none, and the `person` of each;
    by variable: `labels`, the place of each code's category in the public list. `decide` is the resolver's decision on
    some of the pairs that the run with values asks for.
    """

    title: str
    spec: Specification
    encoded: Mapping[Side, Encoded]
    codes: Mapping[Side, NDArray[np.int64]]
    labels: Mapping[str, NDArray[np.int64]]
    person: Mapping[Side, NDArray[np.int64]]
    alone: Run
    with_values: Run
    decide: Callable[[NDArray[np.int64]], Resolved]

    def names(self, side: Side) -> list[str]:
        """The variables that a custodian holds, in the order of the columns of its codes."""
        return [variable.name for variable in self.spec.variables_of(side)]

    def is_match(self, records: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether pairs of records, shape (n, 2), are of one person."""
        return np.asarray(self.person[Side.ALICE][records[:, 0]] == self.person[Side.BOB][records[:, 1]])


def insurers(n: int, seed: int) -> Case:
    """The insurers' files of `latent_rehearsal`: given name, month of birth, sex and driving quality."""
    rng = np.random.default_rng([seed, 1])
    files = dict(zip(Side, with_traits(*two_files(n, n, n // 2, 0.2, rng), rng), strict=True))
    return _linked("little compared", insured_specification("insurers", mode="block_keyed"), files, seed)


def identified(n: int, seed: int) -> Case:
    """People compared by names, birth and address, a fifth with errors, with the insurers' variables."""
    spec, files = people(n, 0.2, seed)
    rng = np.random.default_rng([seed, 2])
    both = [files[side].rename({"person": TRUTH}) for side in Side]
    content = spec.model_dump(mode="json") | {"mode": "block_keyed", "variables": trait_variables()}
    content["fields"].append({"name": KEY, "kind": "category"})
    content["latent"] = {"keys": [KEY]}
    return _linked(
        "well compared",
        Specification.model_validate(content),
        dict(zip(Side, with_traits(*both, rng), strict=True)),
        seed,
    )


def _linked(title: str, spec: Specification, files: Files, seed: int) -> Case:
    key = Seed(bytes([seed % 256, *range(1, 32)]))
    encoded, codes = encode(files, spec, key), {}
    for side, made in encoded.items():
        (part,) = (part for part in made.sets if part.rule == CODES)
        held = np.empty((files[side].height, len(part.variables)), dtype=np.int64)
        names = [variable.name for variable in spec.variables_of(side)]
        held[made.orders[CODES]] = np.stack([part.variables[name].codes for name in names], axis=1)
        codes[side] = held
    labels = {}
    for variable in spec.variables:
        of_code = Relabelling.of(spec, key, 1).labels(variable)
        labels[variable.name] = np.array([variable.categories.index(label) for label in of_code], dtype=np.int64)
    plan = plan_of(spec)
    everybody = pl.concat([files[side][TRUTH].cast(pl.String) for side in Side])
    numbers = np.unique(everybody.to_numpy(), return_inverse=True)[1]
    first = files[Side.ALICE].height

    def decided(
        found: Candidates, plan: LinkagePlan, rows: Mapping[Side, NDArray[np.int32]], chosen: NDArray[np.int64] | slice
    ) -> Resolved:
        handles = []
        for side in Side:
            records, handle = np.unique(encoded[side].order[rows[side][chosen]], return_inverse=True)
            values = {}
            if plan.latent is not None:
                for column, variable in enumerate(spec.variables_of(side)):
                    own = codes[side][records, column].astype(np.int16)
                    values[variable.name] = VariableCodes(len(variable.categories), own)
            handles.append(ResolvedHandles(handle.astype(np.int32), len(records), values=values))
        request = ResolutionRequest(replace(found, pattern=found.pattern[chosen]), (bytes(32), bytes(32)), 2)
        return decide(request, handles[0], handles[1], plan, no_progress, "run")

    runs = []
    for each in (replace(plan, latent=None), plan):
        found, rows = compared(files, encoded, each)
        records = {side: encoded[side].order[rows[side]].astype(np.int64) for side in Side}
        runs.append(Run(found, rows, records, decided(found, each, rows, slice(None))))
    return Case(
        title,
        spec,
        encoded,
        codes,
        labels,
        dict(zip(Side, (numbers[:first], numbers[first:]), strict=True)),
        *runs,
        lambda chosen: decided(found, plan, rows, chosen),
    )
