"""Smith and Elliot's experiment through the services: areas beside the library's, and the section of the page."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.pairs.selection import KEPT_PROBABILITY
from gemel.carole.evaluation.link_quality import TiedClasses, curve_of
from research._intervals import interval
from research._se17_services import SETTINGS, Draw, settled
from research._se17_study import METHODS, SURNAMES_OF_FILES, Outcome, drawn_files, linked

HEADING = "## Through the services"
LIBRARY, FLOORED, OWN_SURNAMES = "library", "library above the floor", SURNAMES_OF_FILES
TO_THE_END = "the services, the second estimate run to the end"
END = 1e-7
"""Change of the expected matches, relative to its square root, at which it then ends."""

Areas = Mapping[str, NDArray[np.float64]]
"""By who links, shape (n_replicates, n_methods): `LIBRARY`, `FLOORED`, `OWN_SURNAMES`, the titles of `SETTINGS`, and
`TO_THE_END`."""


def areas(replicates: int, seed: int, processes: int = 1) -> Areas:
    """Areas under expected precision and recall of the page's draws, methods in the order of `METHODS`."""
    one = partial(replicate, seed=seed)
    if processes > 1:
        with ProcessPoolExecutor(processes) as pool:
            found = list(pool.map(one, range(replicates)))
    else:
        found = [one(r) for r in range(replicates)]
    return {who: np.array([each[who] for each in found]) for who in found[0]}


def replicate(r: int, seed: int) -> dict[str, list[float]]:
    """The r-th draw, linked by the library and through the services."""
    files = drawn_files(np.random.default_rng([seed, r]))
    library = linked(files, "all_pairs", methods=(*METHODS, SURNAMES_OF_FILES))
    found = {
        LIBRARY: [library[method].area for method in METHODS],
        FLOORED: [area_above(library[method], KEPT_PROBABILITY) for method in METHODS],
        OWN_SURNAMES: [library[SURNAMES_OF_FILES if method == "GP" else method].area for method in METHODS],
    }
    with TemporaryDirectory() as folder:
        draw = Draw.written(files, Path(folder))
        for setting in SETTINGS:
            found[setting.title] = [draw.area(draw.linked(method, setting)) for method in METHODS]
        with settled(END):
            found[TO_THE_END] = [draw.area(draw.linked(method, SETTINGS[0])) for method in METHODS]
    return found


def area_above(outcome: Outcome, floor: float) -> float:
    """The area where all pairs below a match probability are one last class, as those that Carole does not keep."""
    classes = outcome.classes
    above = classes.probability >= floor
    kept = TiedClasses(classes.probability[above], classes.pairs[above], classes.matches[above])
    return curve_of(kept, int(classes.matches.sum()), int(classes.pairs[~above].sum())).auc


def section(found: Areas, seed: int) -> str:
    """The section of the page, in Markdown."""
    library = found[LIBRARY]
    n = len(library)
    lines = [
        HEADING,
        "",
        f"`python -m research se17 --services --write` makes this section ({n} replicates, seed {seed}). Each draw "
        "is written as the two custodians' CSV files and linked under a specification, by the code that the services "
        "run: the files are read, cleaned and signed as a custodian does it, and linked by Carole's engine. Ext. EM + "
        "and GP have the [file of training records or of the joint distribution](../docs/variables.md) that the "
        "specification names: 500 records, and the shares of all cells of the network. It has `scheme: exact`, "
        "`u: all_pairs` (two fields determine no other), `dependence: none` and `precision: 64`. Areas, "
        "the library's with u from all pairs, are means with 95 % intervals; differences are within draws.",
        "",
    ]
    for setting in SETTINGS:
        areas = found[setting.title]
        lines += [f"### {setting.title}", "", *_table(library, areas), "", *_order(areas), ""]
    return "\n".join([*lines, *_differences(found)])


def with_section(page: str, text: str) -> str:
    """A page whose section is replaced; it comes last."""
    before = page.split(f"\n{HEADING}\n", 1)[0].rstrip("\n")
    return f"{before}\n\n{text.rstrip()}\n" if text else f"{before}\n"


def section_of(page: str) -> str:
    """The section of a page, empty where it has none."""
    parts = page.split(f"\n{HEADING}\n", 1)
    return f"{HEADING}\n{parts[1]}" if len(parts) > 1 else ""


def _table(library: NDArray[np.float64], areas: NDArray[np.float64]) -> list[str]:
    lines = ["| method | library | services | services less library |", "|---|---|---|---|"]
    for k, method in enumerate(METHODS):
        cells = (cell(values) for values in (library[:, k], areas[:, k], areas[:, k] - library[:, k]))
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return lines


def _order(areas: NDArray[np.float64]) -> list[str]:
    steps = []
    for i, k in pairwise(range(len(METHODS))):
        steps.append(f"{METHODS[k]} above {METHODS[i]} by {cell(areas[:, k] - areas[:, i])}")
    return [f"Paired: {'; '.join(steps)}."]


def _differences(found: Areas) -> list[str]:
    library, gp = found[LIBRARY], METHODS.index("GP")
    unbelieved, believed, one_to_one = (found[setting.title] for setting in SETTINGS)
    to_the_end = found[TO_THE_END] - found[OWN_SURNAMES]
    floor = np.abs(found[FLOORED] - library)
    surnames = found[OWN_SURNAMES][:, gp]
    return [
        "### Where they differ",
        "",
        "- *The floor.* Carole keeps no pair of a match probability below .0001: such pairs are one last class of the "
        f"curve. In the library's own curves that changes an area by {floor.mean(axis=0).max():.5f} in the mean of "
        f"the method that it changes more than the others, and by {floor.max():.5f} in any draw.",
        "- *The surnames.* The library's GP has their true frequencies among people. A specification names a "
        "distribution of variables with categories only, so the services take the surnames' from the two files. The "
        f"library with the surnames of the files has {cell(surnames)}; the services less that: "
        f"{cell(unbelieved[:, gp] - surnames)}.",
        "- *Where the second estimate stops.* The engine estimates m and p again after the pairwise fit, and ends as "
        "soon as a round moves the expected matches by less than a hundredth of their square root, or after 60 rounds. "
        "On two fields EM creeps, so that it ends short of the maximum, which the library reaches. Run on to a change "
        f"of 1e-7, the services less the library, for GP with the surnames of the files: {_each(to_the_end)}; "
        f"{np.abs(to_the_end).max():.4f} at most in any draw, where it was "
        f"{np.abs(unbelieved - found[OWN_SURNAMES]).max():.4f}.",
        "- *What is believed of m.* By default a specification believes that matches agree on a field with "
        "probability .9, worth 20 matches; here .8 is true, by the design. With that belief the areas change by "
        f"{_each(believed - unbelieved)}. Two binary fields alone determine m and p badly.",
        "- *One to one.* The link probabilities under the assignment change the areas further, by "
        f"{_each(one_to_one - believed)}.",
        "",
    ]


def _each(differences: NDArray[np.float64]) -> str:
    return ", ".join(f"{cell(differences[:, k])} for {method}" for k, method in enumerate(METHODS))


def cell(values: NDArray[np.float64]) -> str:
    """Mean and interval."""
    # Rounded first, and 0 added: no zero has a sign.
    mean, low, high = (round(each, 3) + 0.0 for each in interval(values))
    return f"{mean:.3f} ({low:.3f} to {high:.3f})"
