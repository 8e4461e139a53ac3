"""The first half of a run of mode shared at Carole, once the three parties have computed: as `local.compare`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.linkage.local import Run
from gemel.carole.engine.pairs.stream import KeptPairs
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.resources import Resources
from gemel.common.progress import Progress
from gemel.common.signatures.party_sets import PartyContribution
from gemel.shared.run.job import Led
from gemel.shared.run.shared_files import FileSizes, SharedFiles


def compare_opened(
    led: Led, plan: LinkagePlan, resources: Resources, progress: Progress
) -> tuple[Candidates, KeptPairs]:
    """Count what was opened, fit the model, and name the pairs above the floor to the other two parties.

    Returns
    -------
    Candidates
        For `conclude`.
    KeptPairs
        The candidate pairs by their places, ascending, in `row_a` and in `row_b`: of no pair the rows are known here.
        `led.parts` has what names them to the custodians.

    Raises
    ------
    GemelError
        As `local.compare`, and as `Led.name`.
    """
    a, b = led.contributions
    files = SharedFiles((_sizes(a), _sizes(b)), led.blocks, led.opened, led.name)
    run = Run(files, plan, resources, progress)
    with ThreadPoolExecutor(resources.threads, thread_name_prefix="linkage") as pool:
        found, kept, _ = run.compared(pool)
    return replace(found, seconds={**led.seconds, **found.seconds}), kept


def _sizes(part: PartyContribution) -> FileSizes:
    return FileSizes(part.n_records, part.starts[-1], max(part.rows_per_rule.values()))
