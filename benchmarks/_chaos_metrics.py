"""Carole's page of metrics, read before her processes are struck and when all is quiet, compared with the audit log.

A page shows the size of the log (`gemel_audit_entries`), read in the same transaction as whatever else it shows of the
store. So what follows from the log is compared exactly with the log as it was then, at any moment, also amid kills.
Everything else has a kind too (`KINDS`): a metric of none is a problem, so that a new one is thought about.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from http.client import HTTPConnection, HTTPException

from prometheus_client.parser import text_string_to_metric_families

from gemel.carole.projects.project import RunState, State
from gemel.common.audit import AuditEntry

Series = tuple[str, tuple[tuple[str, str], ...]]
"""A sample's name and labels."""


class Kind(StrEnum):
    """Where a metric's value comes from, and so what a restart does to it."""

    LOG = "follows from the audit log"
    STORE = "of the store, beside the log"
    PROCESS = "counted by the process: 0 when it starts, and never less after that"
    NOW = "as the service, its disks and its certificates are now"


KINDS: Mapping[str, Kind] = {
    "gemel_projects": Kind.LOG,
    "gemel_runs": Kind.LOG,
    "gemel_queue_runs": Kind.LOG,
    "gemel_uploads_open": Kind.LOG,
    "gemel_audit_entries": Kind.LOG,
    "gemel_audit_witnessed_entries": Kind.STORE,
    "gemel_audit_witness_age_seconds": Kind.STORE,
    "gemel_queue_age_seconds": Kind.STORE,
    "gemel_run_progress": Kind.STORE,
    "gemel_run_lease_age_seconds": Kind.STORE,
    "gemel_uploads_open_bytes": Kind.STORE,
    "gemel_store_payloads": Kind.STORE,
    "gemel_store_bytes": Kind.STORE,
    "gemel_retention_due": Kind.STORE,
    "gemel_last_run_stage_seconds": Kind.STORE,
    "gemel_last_run_candidate_pairs": Kind.STORE,
    "gemel_last_run_patterns": Kind.STORE,
    "gemel_last_run_peak_bytes": Kind.STORE,
    "gemel_last_run_granted_bytes": Kind.STORE,
    "gemel_rpc_seconds": Kind.PROCESS,
    "gemel_rpc_received_bytes": Kind.PROCESS,
    "gemel_rpc_sent_bytes": Kind.PROCESS,
    "gemel_rpc_denied": Kind.PROCESS,
    "gemel_worker_starts": Kind.PROCESS,
    "gemel_info": Kind.NOW,
    "gemel_store_up": Kind.NOW,
    "gemel_worker_up": Kind.NOW,
    "gemel_workers": Kind.NOW,
    "gemel_check": Kind.NOW,
    "gemel_disk_free_bytes": Kind.NOW,
    "gemel_disk_size_bytes": Kind.NOW,
    "gemel_certificate_days_left": Kind.NOW,
    "gemel_certificate_ending": Kind.NOW,
    "gemel_member_certificate_days_left": Kind.NOW,
    "gemel_member_certificate_ending": Kind.NOW,
}
"""By family, as Prometheus' own parser names it."""

ERASING = {"erase", "expire-result"}
RUN_STATES = {
    "start-run": RunState.QUEUED,
    "take-run": RunState.RUNNING,
    "requeue-run": RunState.QUEUED,
    "ask-handles": RunState.RESOLVING,
    "resolve-run": RunState.QUEUED,
    "fail-run": RunState.FAILED,
    "finish-run": RunState.DONE,
}
"""The state of a run after an action; the trial's resolver, whose result follows the handles, is the coordinator."""


@dataclass(frozen=True)
class Page:
    """One reading of the page: series and families of ours, by a process that began so many seconds after 1970."""

    process: float
    values: Mapping[Series, float]
    families: frozenset[str]

    @classmethod
    def read(cls, address: str, seconds: float) -> Page | None:
        """The page at ``IP:port``; None if it does not answer in time."""
        host, _, port = address.rpartition(":")
        connection = HTTPConnection(host, int(port), timeout=seconds)
        try:
            connection.request("GET", "/metrics")
            text = connection.getresponse().read().decode()
        except (OSError, HTTPException):
            return None  # it is dead, or stands still
        finally:
            connection.close()
        return cls.parse(text)

    @classmethod
    def parse(cls, text: str) -> Page:
        """A page from its text."""
        families = list(text_string_to_metric_families(text))
        values = {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in families
            for sample in family.samples
        }
        ours = frozenset(family.name for family in families if family.name.startswith("gemel"))
        return cls(values["process_start_time_seconds", ()], values, ours)

    def value(self, name: str, **labels: str) -> float:
        """The value of one series."""
        return self.values[name, tuple(sorted(labels.items()))]

    def labelled(self, name: str) -> dict[str, float]:
        """The values of a metric with one label, by the label."""
        return {labels[0][1]: value for (found, labels), value in self.values.items() if found == name}

    @property
    def entries(self) -> int | None:
        """Size of the log when the store was read; None where it was not."""
        found = self.values.get(("gemel_audit_entries", ()))
        return None if found is None else int(found)


class Replay:
    """What Carole's page shows of a log as far as it has been followed."""

    def __init__(self) -> None:
        self._projects: dict[str, str] = {}
        self._runs: dict[str, tuple[str, RunState]] = {}
        self._open: dict[tuple[str, str], str] = {}
        self.size = 0

    def follow(self, entry: AuditEntry) -> None:
        """Take the next entry."""
        self.size += 1
        details, project = entry.details, entry.project
        if "state" in details:
            self._projects[project] = str(details["state"]).lower()
        if entry.action in RUN_STATES:
            self._runs[str(details["run"])] = (project, RUN_STATES[entry.action])
        elif entry.action == "begin-upload":
            self._open[project, entry.actor] = str(details["upload"])
        elif entry.action == "commit-upload":
            self._open.pop((project, entry.actor), None)
        elif entry.action == "expire-upload":
            self._open = {key: upload for key, upload in self._open.items() if upload != details["upload"]}
        elif entry.action in ERASING:
            self._open = {key: upload for key, upload in self._open.items() if key[0] != project}
            for run, (of, state) in self._runs.items():
                if of == project and state.active:
                    self._runs[run] = (of, RunState.FAILED)

    def expected(self) -> dict[Series, float]:
        """Every series that follows from the log."""
        projects, runs = list(self._projects.values()), [state for _, state in self._runs.values()]
        found = {
            ("gemel_projects", (("state", state.name.lower()),)): float(projects.count(state.name.lower()))
            for state in State
        }
        found |= {("gemel_runs", (("state", state.name.lower()),)): float(runs.count(state)) for state in RunState}
        found["gemel_queue_runs", ()] = float(runs.count(RunState.QUEUED))
        found["gemel_uploads_open", ()] = float(len(self._open))
        found["gemel_audit_entries", ()] = float(self.size)
        return found


def compared(pages: Sequence[Page], entries: Iterable[AuditEntry]) -> Iterator[str]:
    """What of the pages, in the order in which they were read, is not as the log has it, and other impossibilities."""
    yield from _counted(pages)
    replay, log = Replay(), iter(entries)
    for page in sorted((page for page in pages if page.entries is not None), key=lambda page: page.entries or 0):
        while replay.size < (page.entries or 0):
            entry = next(log, None)
            if entry is None:
                yield f"a page shows {page.entries} entries of a log of {replay.size}"
                return
            replay.follow(entry)
        for series, value in replay.expected().items():
            if page.values.get(series) != value:
                yield f"at entry {replay.size} {_shown(series)} is {page.values.get(series)}, by the log {value:g}"
        for (name, labels), value in page.values.items():
            if name == "gemel_audit_witnessed_entries" and not 0 <= value <= replay.size:
                yield f"at entry {replay.size} {_shown((name, labels))} is {value:g}"


def _counted(pages: Sequence[Page]) -> Iterator[str]:
    """Metrics of no kind, values that cannot be, and counters that fell while their process lived."""
    former: dict[float, dict[Series, float]] = {}
    for name in sorted(frozenset().union(*(page.families for page in pages)) - KINDS.keys()):
        yield f"{name} is a metric of no known kind"
    for page in pages:
        counters = {series: value for series, value in page.values.items() if _family(series) is Kind.PROCESS}
        for series, value in former.get(page.process, {}).items():
            if counters.get(series, -1.0) < value:
                yield f"{_shown(series)} fell from {value:g} to {counters.get(series)} while its process lived"
        former[page.process] = counters
        for series, value in page.values.items():
            if series[0].startswith("gemel_") and not value >= 0 and not series[0].startswith("gemel_certificate"):
                yield f"{_shown(series)} is {value}"


def _family(series: Series) -> Kind | None:
    name = series[0]
    for ending in ("_total", "_count", "_sum", "_bucket"):
        name = name.removesuffix(ending)
    return KINDS.get(name)


def _shown(series: Series) -> str:
    labels = ", ".join(f"{name}={value}" for name, value in series[1])
    return f"{series[0]}{{{labels}}}" if labels else series[0]
