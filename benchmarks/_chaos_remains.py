"""What Carole still has of erased projects; whether her metrics agree with her log, and her log with itself."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from sqlalchemy import select

from benchmarks._chaos_metrics import Page, compared
from benchmarks._chaos_site import Site
from gemel.carole.configuration import CaroleConfiguration, load_carole
from gemel.carole.store import audit
from gemel.carole.store.database import Database
from gemel.carole.store.releases import COUNTS
from gemel.carole.store.tables import payloads, results
from gemel.common.audit import AuditEntry

_COUNTS = select(results.c.payload).where(results.c.recipient == COUNTS)


def remains(site: Site, seconds: float = 120.0) -> Iterator[str]:
    """Start Carole once more, who clears up, stop her, and say what is left; all projects must have been erased."""
    service = site.services["carole"]
    service.start()
    service.wait_ready()
    configuration = load_carole(site.configs["carole"])
    until = time.monotonic() + seconds
    released = _released_counts(configuration)
    while (left := _left(configuration, released)) and time.monotonic() < until:  # she may clear up while she serves
        time.sleep(0.2)
    entries = _log(configuration)
    # She may add an entry yet, and shows a page again for some seconds.
    while (page := site.scrape(10)) is None or page.entries != len(entries):
        if time.monotonic() > until:
            yield f"the last page shows {page and page.entries} entries of a log of {len(entries)}"
            break
        time.sleep(0.2)
        entries = _log(configuration)
    service.stop()
    yield from left
    yield from compared(site.pages, entries)
    if page is not None:
        yield from nothing_left(page, released)
    command = [sys.executable, "-m", "gemel", "audit", "verify", "--config", str(site.configs["carole"])]
    verified = subprocess.run(command, capture_output=True, text=True, check=False)
    if verified.returncode:
        yield f"the audit log is not intact: {verified.stdout}{verified.stderr}"


def nothing_left(page: Page, released: int) -> Iterator[str]:
    """What the page shows of content, after every project has been erased: of releases the counts of their tables."""
    if page.value("gemel_store_payloads") != released:
        yield f"of {released} releases gemel_store_payloads is {page.value('gemel_store_payloads'):g}"
    for name in ("uploads_open", "uploads_open_bytes", "retention_due", "queue_runs"):
        if page.value(f"gemel_{name}"):
            yield f"after all was erased gemel_{name} is {page.value(f'gemel_{name}'):g}"
    for check, passed in page.labelled("gemel_check").items():
        if passed != 1:
            yield f"check {check} is not passed at the end"


def going_on(root: Path) -> Iterator[str]:
    """The processes that were started with a file of a folder and are still there."""
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended meanwhile
            if str(root).encode() in line.read_bytes():
                yield f"process {line.parent.name} goes on"


def _log(configuration: CaroleConfiguration) -> list[AuditEntry]:
    database = Database(configuration.store.database)
    try:
        with database.read() as connection:
            return audit.entries(connection)
    finally:
        database.close()


def _released_counts(configuration: CaroleConfiguration) -> int:
    """Releases whose counts are kept, as they are when a project is erased."""
    database = Database(configuration.store.database)
    try:
        with database.read() as connection:
            return len(connection.execute(_COUNTS).all())
    finally:
        database.close()


def _left(configuration: CaroleConfiguration, released: int) -> list[str]:
    """Keys in the database, and files in the folder of blobs, but for those of the counts of releases."""
    database = Database(configuration.store.database)
    try:
        with database.read() as connection:
            others = payloads.c.wrapped_key.is_not(None), payloads.c.id.not_in(_COUNTS)
            keys = connection.execute(select(payloads.c.id).where(*others)).all()
    finally:
        database.close()
    files = [path for path in configuration.store.blobs.rglob("*") if path.is_file() and len(path.name) == 32]
    found = [f"{len(keys)} keys of erased projects"] if keys else []
    return [*found, f"{len(files)} files of erased projects"] if len(files) != released else found
