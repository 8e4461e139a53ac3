"""Smith and Elliot's files through the services: what is written and read is what was drawn, and links as the library.

Areas over many draws are in `research/tests/test_smith_elliot_2017_services.py`.
"""

from __future__ import annotations

import numpy as np
import pytest

from gemel.coordinator.demonstration.people.insured import driver_network
from research._networks import decomposable_model
from research._se17_services import KNOWN, SETTINGS, Draw, network_cells, specification
from research._se17_services_section import area_above, section_of, with_section
from research._se17_study import KEYS, SURNAMES_OF_FILES, TRAINING, drawn_files, linked

PAPER, BELIEVED, _ = SETTINGS


@pytest.fixture(scope="module")
def draw(tmp_path_factory: pytest.TempPathFactory) -> Draw:
    return Draw.written(drawn_files(np.random.default_rng([17, 1])), tmp_path_factory.mktemp("draw"))


def test_pairs_agree_as_in_the_library(draw: Draw) -> None:
    patterns, found = draw.files.patterns, draw.linked("FS", PAPER).patterns
    counts = {tuple(gamma): int(n) for gamma, n in zip(found.gamma.tolist(), found.count, strict=True)}
    assert counts == {tuple(gamma): int(n) for gamma, n in zip(patterns.gamma.tolist(), patterns.count, strict=True)}


def test_areas_are_near_the_library_s(draw: Draw) -> None:
    """One draw: within .01, as the mean of many; GP beside the library's with the surnames' frequencies of the files.

    What the library's floor would cut off is far less.
    """
    library = linked(draw.files, "all_pairs", methods=("Ext. EM", "Ext. EM +", SURNAMES_OF_FILES))
    for method, of_library in (
        ("FS", "FS"),
        ("Ext. EM", "Ext. EM"),
        ("Ext. EM +", "Ext. EM +"),
        ("GP", SURNAMES_OF_FILES),
    ):
        area = draw.area(draw.linked(method, PAPER))
        assert area == pytest.approx(library[of_library].area, abs=0.01), method
    floored = area_above(library["Ext. EM"], 1e-4)
    assert floored <= library["Ext. EM"].area
    assert floored == pytest.approx(library["Ext. EM"].area, abs=1e-3)


def test_files_of_known_values_reach_the_step(draw: Draw) -> None:
    runs = {method: draw.linked(method, BELIEVED).latent for method in ("Ext. EM", *KNOWN)}
    assert all(run is not None for run in runs.values())
    assert runs["Ext. EM +"].records == pytest.approx(runs["Ext. EM"].records + TRAINING)  # type: ignore[union-attr]
    assert runs["GP"].records == 0  # type: ignore[union-attr]
    assert runs["GP"].alone == (KEYS[1],)  # type: ignore[union-attr]


def test_the_file_of_the_joint_distribution_is_the_network_s(draw: Draw) -> None:
    cells = network_cells()
    network = driver_network()
    name = str(network.names[0])
    shares = cells.select(name, "share").group_by(name).sum()
    margin = dict(zip(network.categories[0], decomposable_model(network).marginal([name]), strict=True))
    assert dict(shares.iter_rows()) == pytest.approx(margin)
    latent = specification(PAPER, True, draw.folder / KNOWN["GP"]).latent
    assert latent is not None
    assert latent.joint is not None
    assert latent.joint.cells == cells.height


def test_the_section_is_replaced_and_the_rest_stays() -> None:
    page = "# Title\n\n## First\n\ntext\n"
    first = with_section(page, "## Through the services\n\nold\n")
    second = with_section(first, "## Through the services\n\nnew\n\n### Part\n")
    assert second == page + "\n## Through the services\n\nnew\n\n### Part\n"
    assert with_section(page, section_of(second)) == second
    assert section_of(page) == ""
    assert with_section(page, "") == page
