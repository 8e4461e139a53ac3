"""Secondary suppression: which other cells to withhold, so that every attack on a primary cell is withstood.

`exact` finds the cheapest such cells. It is a cutting plane method: an integer programme proposes cells, the attacks'
linear programmes refute them, and the dual of each refuting attack is an inequality that every protecting choice
satisfies. `heuristic` moves each attacked cell by the reach asked for at the least cost per unit moved, withholds
what moved with it, and gives back what turns out not to be needed [2]_: it protects as well, and withholds more.

References
----------
.. [1] Fischetti and Salazar-González, Solving the cell suppression problem on tabular data with linear constraints,
   Management Science 47, 2001. doi:10.1287/mnsc.47.7.1008.9805
.. [2] Kelly, Golden and Assad, Cell suppression: disclosure protection for sensitive tabular data, Networks 22, 1992.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import LinearConstraint
from scipy.sparse import csr_array

from gemel.common.progress import StageProgress, silent
from gemel.risk.arrays import Floats, Mask
from gemel.risk.magnitude.attacks import TOLERANCE, Attack, Limits, Moved, Rooms, Suppressed, Witnesses, minimum_move
from gemel.risk.magnitude.tables import LinkedTables
from gemel.risk.whole_programmes import cheapest


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be protected, and at what price.

    `values` (float64, shape (n_cells,)): true values; `primary` (bool, shape (n_cells,)): withheld in any case;
    `candidates` (bool, shape (n_cells,)): what may be withheld beside; `costs` (float64, shape (n_cells,)): the price
    of withholding each candidate, above 0.
    """

    tables: LinkedTables
    values: Floats
    signed: bool
    primary: Mask
    candidates: Mask
    costs: Floats
    attacks: tuple[Attack, ...]
    known_within: float = np.inf

    def pattern(self, suppressed: Mask) -> Suppressed:
        return Suppressed(self.tables, self.rooms(suppressed))

    def rooms(self, suppressed: Mask) -> Rooms:
        """How far cells may move when these are withheld."""
        limits = Limits.of(self.values, suppressed, signed=self.signed)
        return limits.known_within(self.values, suppressed, self.known_within).rooms(self.values)

    def cost(self, suppressed: Mask) -> float:
        """What withholding costs beyond the primary cells."""
        return float(self.costs[suppressed & ~self.primary].sum())


@dataclass(frozen=True, eq=False)
class Suppression:
    """Which cells to withhold.

    `suppressed` (bool, shape (n_cells,)): primary and secondary.
    """

    suppressed: Mask
    cost: float
    bound: float
    optimal: bool
    method: str
    impossible: tuple[Attack, ...]


def suppress(
    problem: Problem, *, exact: bool | None = None, seconds: float = 60.0, progress: StageProgress = silent
) -> Suppression:
    """Choose the cells to withhold.

    `exact`: true: the cheapest choice; False: the heuristic alone; None: the cheapest if it is found in time;
    `seconds`: time for the cutting planes, which start from the heuristic's choice and give it back when time runs out;
    `progress`: called with the share of the attacks that are withstood.
    """
    witnesses = Witnesses()
    start, possible, impossible = heuristic(problem, witnesses, progress)
    cost = problem.cost(start)
    lost = tuple(impossible)
    if exact is False or not cost:
        return Suppression(start, cost, 0.0, not cost, "heuristic" if cost else "primary alone", lost)
    found, bound = _cutting_planes(problem, possible, witnesses, start, seconds if exact is None else np.inf)
    if found is None:
        return Suppression(start, cost, bound, cost <= bound * (1 + TOLERANCE), "heuristic", lost)
    return Suppression(found, problem.cost(found), problem.cost(found), True, "integer programme", lost)


def heuristic(
    problem: Problem, witnesses: Witnesses, progress: StageProgress = silent
) -> tuple[Mask, list[Attack], list[Attack]]:
    """Cells whose suppression withstands all attacks, by one linear programme for each attack that still succeeds.

    Returns `suppressed` (bool, shape (n_cells,)): primary and secondary cells; `withstood`, `impossible` (list of
    Attack): all attacks; the second succeed even when every candidate is withheld.

    The widest reach goes first. What is withheld for one attack is free for the next. In the end each secondary cell,
    the dearest first, is given back if all attacks are still withstood without it.
    """
    suppressed = problem.primary.copy()
    pattern = problem.pattern(suppressed)
    proofs: list[Moved] = []
    attacks: list[Attack] = []
    impossible: list[Attack] = []
    for done, attack in enumerate(sorted(problem.attacks, key=lambda attack: -attack.reach)):
        found = witnesses.withstands(pattern, attack)
        if found is None:
            found = _cheapest_move(problem, suppressed, attack)
            if found is None:
                impossible.append(attack)
                continue
            witnesses.add(found)
            suppressed[found.cells] = True
            pattern = problem.pattern(suppressed)
        proofs.append(found)
        attacks.append(attack)
        progress((done + 1) / len(problem.attacks))
    relying: dict[int, set[int]] = {}  # attacks whose proof moves a cell
    for k, proof in enumerate(proofs):
        for cell in proof.cells.tolist():
            relying.setdefault(cell, set()).add(k)
    secondary = np.flatnonzero(suppressed & ~problem.primary)
    for cell in secondary[np.argsort(-problem.costs[secondary], kind="stable")].tolist():
        fewer = suppressed.copy()
        fewer[cell] = False
        pattern = problem.pattern(fewer)
        others: dict[int, Moved] = {}
        for k in sorted(relying.get(cell, ())):
            found = witnesses.withstands(pattern, attacks[k])
            if found is None:
                break
            others[k] = found
        else:
            suppressed = fewer
            for k, proof in others.items():
                for moved in proofs[k].cells.tolist():
                    relying[moved].discard(k)
                for moved in proof.cells.tolist():
                    relying.setdefault(moved, set()).add(k)
                proofs[k] = proof
    return suppressed, attacks, impossible


def _cheapest_move(problem: Problem, suppressed: Mask, attack: Attack) -> Moved | None:
    """Move the attacked cell by its reach at the least cost per unit that others move; None if it cannot."""
    usable = suppressed | problem.candidates
    cells = np.flatnonzero(usable)
    matrix = csr_array(problem.tables.equations[:, cells])
    price = np.where(suppressed[cells], 1e-6 * problem.costs.mean(), problem.costs[cells])
    return minimum_move(matrix, cells, problem.rooms(usable), price, attack)


def _cutting_planes(
    problem: Problem, attacks: Sequence[Attack], witnesses: Witnesses, start: Mask, seconds: float
) -> tuple[Mask | None, float]:
    """The cheapest choice, or None when time ran out, and a cost that no choice is below."""
    ends = time.monotonic() + seconds
    scale = max(problem.cost(start), 1e-300)
    costs = np.where(problem.primary, 0.0, problem.costs) / scale
    upper = np.where(problem.primary | problem.candidates, 1.0, 0.0)
    matrix, floor = _no_lone_cell(problem, attacks)
    bound = 0.0
    cuts: list[Floats] = []
    previous: Mask | None = None
    while True:
        rows = [LinearConstraint(matrix, floor, np.inf)]
        if cuts:
            rows.append(LinearConstraint(csr_array(np.stack(cuts)), 1.0, np.inf))
        left = ends - time.monotonic()
        if left <= 0:
            return None, bound * scale
        limit = left if np.isfinite(left) else None
        found = cheapest(costs, rows, problem.primary.astype(float), upper, limit)
        if found.status != 0:
            if found.mip_dual_bound is not None and np.isfinite(found.mip_dual_bound):
                bound = max(bound, float(found.mip_dual_bound))
            return None, bound * scale
        bound = max(bound, float(found.fun))
        chosen = found.x > 0.5
        if problem.cost(chosen) >= problem.cost(start) * (1 - TOLERANCE):
            return start, problem.cost(start)
        refuted = _refuting_cuts(problem, attacks, witnesses, chosen)
        if not refuted:
            return chosen, problem.cost(chosen)
        if previous is not None and (previous == chosen).all():  # a cut too close to its limit to count
            return None, bound * scale
        previous = chosen
        cuts += refuted


def _no_lone_cell(problem: Problem, attacks: Sequence[Attack]) -> tuple[csr_array, Floats]:
    """A withheld cell that is alone in some sum can be worked out from it: another one of that sum is withheld, too."""
    equations = csr_array(np.abs(problem.tables.equations))
    needed = problem.candidates & ~problem.primary
    needed[[attack.cell for attack in attacks]] = True
    parts = equations.tocoo()
    lone, cell = parts.row[needed[parts.col]], parts.col[needed[parts.col]]
    shape = len(cell), problem.tables.n_cells
    itself = csr_array((np.full(len(cell), 2.0), (np.arange(len(cell)), cell)), shape=shape)
    return csr_array(equations[lone] - itself), np.zeros(len(cell))


def _refuting_cuts(problem: Problem, attacks: Sequence[Attack], witnesses: Witnesses, chosen: Mask) -> list[Floats]:
    """For each attack that the choice does not withstand, weights of cells of which 1 must be withheld."""
    pattern = problem.pattern(chosen)
    rooms = problem.rooms(np.ones(len(chosen), dtype=bool))
    cells = np.arange(len(chosen))
    cuts = []
    for attack in attacks:
        if witnesses.withstands(pattern, attack) is not None:
            continue
        found = pattern.moved(attack.cell, attack.sense, attack.reach, attack.intruder, capped=True)
        if found.prices is None:
            raise AssertionError("a capped programme has prices")
        down, up = rooms.narrowed(cells, attack.intruder)
        prices = np.where(np.abs(found.prices) < 1e-9, 0.0, found.prices)
        # What the cell can add to the target's movement. Where nothing bounds it, withholding it may be enough: 1.
        with np.errstate(invalid="ignore"):
            moving = np.where(prices < 0, -prices * up, prices * down) / attack.reach
        cut = np.minimum(1.0, np.nan_to_num(moving, nan=0.0, posinf=1.0))
        cut[list(attack.intruder.known)] = 0.0
        # The target is withheld: what its own price contributes is no condition, and is below 1.
        cuts.append(cut)
    return cuts
