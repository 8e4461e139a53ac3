"""The joint distribution that a resolver reports: what a request of one pair would show, and that it is withheld."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from gemel.carole.engine.decision.coded_links import GROUP
from gemel.carole.engine.latent.step import of_few_links, reported_joint
from gemel.carole.engine.resolution.resolution_exchange import Resolved, decide
from gemel.carole.engine.resolution.resolution_request import ResolutionRequest
from gemel.common.specification import ReleaseSpec, Specification
from gemel.coordinator.demonstration.people.insured import insured_specification
from tests.carole.engine.progress import quiet
from tests.carole.engine.runs import DIGESTS, codes_of
from tests.carole.engine.test_latent import PLAN, all_pairs, invented
from tests.carole.engine.test_latent_resolved import handles_of

PLAIN = insured_specification("insurers", mode="block_keyed")
GRANTED = Specification.model_validate(PLAIN.model_copy(update={"release": ReleaseSpec(joint="bob")}).model_dump())


class Comparison:
    """A comparison, of which any of the pairs may be requested."""

    def __init__(self, seed: int) -> None:
        self.insured = invented(seed)
        self.found, self.kept = all_pairs(self.insured, PLAN)
        self.whole = self.decided(np.arange(len(self.kept.pattern)))
        self.links = self.whole.order[self.whole.linkage.links]

    def decided(self, chosen: NDArray[np.int64]) -> Resolved:
        """The resolver's decision on some of the pairs, with the codes of their records."""
        handles = handles_of(self.insured, self.kept, chosen)
        found = replace(self.found, pattern=self.found.pattern[chosen])
        return decide(ResolutionRequest(found, DIGESTS, 1), *handles, PLAN, quiet, "run")

    def codes_of(self, pair: int) -> dict[str, int]:
        """The codes of both records of a pair, where they have any; of a key that differs neither."""
        held: dict[str, set[int]] = {}
        for part, row in zip(self.insured.sets, (self.kept.row_a[pair], self.kept.row_b[pair]), strict=True):
            for name, variable in part.variables.items():
                held.setdefault(name, set()).add(int(variable.codes[row]))
        return {name: min(codes) for name, codes in held.items() if len(codes) == 1 and min(codes) >= 0}


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return Comparison(3)


def test_of_many_links_it_is_reported_where_it_is_released_or_assessed(comparison: Comparison) -> None:
    linkage = comparison.whole.linkage
    assert len(linkage.links) > GROUP
    assert reported_joint(linkage, GRANTED) is linkage.latent.joint is not None
    assert reported_joint(linkage, PLAIN) is None
    assert reported_joint(replace(linkage, latent=None), GRANTED) is None
    assert "joint_withheld" not in codes_of(linkage)


@pytest.mark.parametrize("place", range(5))
def test_of_one_pair_it_shows_every_code_and_is_withheld(comparison: Comparison, place: int) -> None:
    pair = int(comparison.links[place])
    resolved = comparison.decided(np.array([pair]))
    joint, codes = resolved.linkage.latent.joint, comparison.codes_of(pair)
    read = {name: int(joint.table([name]).argmax()) for name in codes}
    assert read == codes
    assert len(codes) > 5
    assert reported_joint(resolved.linkage, GRANTED) is None
    withheld = [warning for warning in resolved.document.warnings if warning.code == "joint_withheld"]
    assert len(withheld) == 1


@pytest.mark.parametrize(("number", "few"), [(GROUP - 1, True), (GROUP, False)])
def test_links_of_twenty_records_are_many(comparison: Comparison, number: int, few: bool) -> None:
    links = comparison.whole.linkage.links[:number]
    assert of_few_links(replace(comparison.whole.linkage, links=links)) is few


def test_links_of_one_record_count_once(comparison: Comparison) -> None:
    """Where a record may have several links."""
    linkage = comparison.whole.linkage
    one = replace(linkage.pairs, row_a=np.zeros_like(linkage.pairs.row_a))
    assert of_few_links(replace(linkage, pairs=one))
