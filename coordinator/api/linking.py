"""`gemel.link`: two files linked in this process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from gemel.carole.configuration import LimitsConfiguration
from gemel.carole.engine import Resources
from gemel.common.errors import parameter
from gemel.common.parties import Side
from gemel.common.processes import processors
from gemel.common.progress import Progress, stages_on_terminal
from gemel.common.records.frames import Records
from gemel.coordinator.api.frames import table_of
from gemel.coordinator.api.in_process import Keys, link_in_process
from gemel.coordinator.api.linked_files import LinkedFiles
from gemel.coordinator.api.specifications import AnySpecification, draft, specification_of
from gemel.custodian.source.reading import compared_columns


def link(
    a: Records,
    b: Records,
    spec: AnySpecification | None = None,
    *,
    seed: int = 1,
    keys: Keys | None = None,
    known: Sequence[Path | str] = (),
    memory: str = "3GiB",
    threads: int = 0,
    progress: Progress | None = None,
) -> LinkedFiles:
    """Link two files in this process, with the numbers of a linkage by the three services.

    For research, teaching and tests, where one person may have both files: nothing is protected from the caller. A live
    linkage, in which no one sees both, is of `gemel.Client`; `gemel rehearse` tries one out with the real services.

    Parameters
    ----------
    a, b : polars, pandas or Arrow table, or path of a CSV or Parquet file
        Alice's and Bob's records.
    spec : Specification, Draft, text of YAML or path, optional
        As drafted of the two files for mode open, if not given.
    seed : int
        The throw-away keys that sign the records follow from it: another seed gives slightly other probabilities, as
        another seed of the custodians would.
    keys : Keys, optional
        In their place those of a linkage, whose numbers are then repeated.
    known : sequence of paths
        Files that `latent.training` or `latent.joint` names.
    memory : str
        What the comparison may use, such as ``"512MiB"``: with less, fewer pairs far from a link are kept.
    threads : int
        0: one for each core.
    progress : callable, optional
        Called with a stage and the fraction of it that is done.

    Returns
    -------
    LinkedFiles
        The same for the same records, specification and seed.

    Raises
    ------
    GemelError
        As a custodian's service and Carole refuse records and specification; never with a record's value.

    Notes
    -----
    Everything is in memory: some 2 kB a record in mode open. Time is that of `carole.engine.link`. Not worked out here
    are the leakage gate, the disclosure assessment and a released joint distribution.

    Examples
    --------
    >>> import polars as pl, gemel
    >>> names = ["Ann", "Bob", "Cyd", "Dora", "Eli", "Fay", "Gus", "Hal", "Ida", "Joe"]
    >>> towns = ["Ely", "Ryde", "Bath", "Wells"]
    >>> people = pl.DataFrame({
    ...     "id": range(40), "name": [names[k % 10] for k in range(40)], "town": [towns[k // 10] for k in range(40)],
    ...     "born": [f"19{50 + k}-0{1 + k % 9}-1{k % 10}" for k in range(40)],
    ... })
    >>> found = gemel.link(people[:30], people[10:], '''
    ... version: 1
    ... project: towns
    ... mode: open
    ... custodians: {alice: {identifier: id}, bob: {identifier: id}}
    ... fields:
    ...   - {name: name, kind: name}
    ...   - {name: town, kind: category}
    ...   - {name: born, kind: date, date: {order: ymd}}
    ... retention: {uploads_days: 1, results_days: 1, maps_days: 1}
    ... ''')
    >>> found.links.height, (found.links["alice"] == found.links["bob"]).all()
    (20, True)
    """
    specification = draft(a, b, mode="open", gate=False).specification if spec is None else specification_of(spec)
    tables = {
        side: table_of(
            records,
            [specification.custodians.of(side).identifier, *compared_columns(specification, side)],
            f"{side}'s records",
        )
        for side, records in zip(Side, (a, b), strict=True)
    }
    found = link_in_process(
        tables,
        specification,
        Keys.of_number(seed) if keys is None else keys,
        Resources(_bytes(memory), threads or processors()),
        stages_on_terminal() if progress is None else progress,
        [Path(path) for path in known],
    )
    return LinkedFiles(specification, found.pairs, found.draws, found.statistics)


def _bytes(memory: str) -> int:
    try:
        return LimitsConfiguration(memory=memory).memory_bytes
    except ValidationError:
        raise parameter("memory", "expected a size", repr(memory), "write 512MiB or 3GiB") from None
