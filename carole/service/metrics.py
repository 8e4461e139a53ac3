"""Every metric of Carole's own, by name. Calls are counted by `serving.observation`.

What her store holds is read from it when the page is requested, at most once in `REMEMBERED_SECONDS`, so that a scrape
costs one transaction and many cost no more. While the database does not answer, `gemel_store_up` is 0 and the metrics
that need it are absent. The worker is another process: what it does is read from the store too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from gemel.carole.projects.project import RunState
from gemel.carole.store.monitoring import Figures, LastRun, Monitoring
from gemel.common.errors import GemelError
from gemel.common.pki.checks import utc_now
from gemel.common.pki.ending import urgency
from gemel.common.rpc.trust import Trust
from gemel.serving.families import ENDING, days_left, gauge, labelled, service_metrics
from gemel.serving.readiness import Readiness, Recent

REMEMBERED_SECONDS = 5.0


class CaroleMetrics(Collector):
    def __init__(
        self,
        monitoring: Monitoring,
        readiness: Readiness,
        trust: Trust,
        workers: Sequence[Callable[[], tuple[bool, int]]],
        *,
        label_projects: bool,
    ) -> None:
        self._monitoring, self._readiness, self._trust = monitoring, readiness, trust
        self._workers, self._label_projects = workers, label_projects
        self._figures = Recent(self._read, REMEMBERED_SECONDS)

    def collect(self) -> Iterable[Metric]:
        yield from service_metrics(self._readiness, self._monitoring.disks, self._trust.in_use())
        yield from self._certificates()
        figures = self._figures()
        yield gauge("gemel_store_up", "Whether the database was read for this page.", float(figures is not None))
        if figures is not None:
            yield from self._work(figures)
            yield from _last_run(figures.last_run)
            yield gauge("gemel_uploads_open", "Uploads that have begun and are not complete.", figures.open_uploads)
            yield gauge("gemel_uploads_open_bytes", "Bytes received of them.", figures.open_bytes)
            what = "Uploads, artifacts and shares that can be decrypted."
            yield gauge("gemel_store_payloads", what, figures.payloads)
            yield gauge("gemel_store_bytes", "Bytes of their chunks.", figures.stored_bytes)
            yield gauge("gemel_retention_due", "Uploads and results whose retention is over.", figures.due)
            yield from self._audit(figures)
        found = [health() for health in self._workers]
        yield gauge("gemel_workers", "Workers that there should be: runs at a time.", len(found))
        yield gauge("gemel_worker_up", "Whether every worker's process is alive.", float(all(up for up, _ in found)))
        starts = sum(count for _, count in found)
        yield CounterMetricFamily("gemel_worker_starts", "Workers started by this process.", value=starts)

    def _certificates(self) -> Iterable[Metric]:
        """By role, as witnesses are: of several members in one role, the one that ends first."""
        days: dict[str, float] = {}
        soon: dict[str, float] = {}
        now = utc_now()
        for member, certificate in self._trust.members_certificates().items():
            role = str(member.role)
            days[role] = min(days.get(role, math.inf), days_left(certificate.not_valid_after_utc))
            soon[role] = max(soon.get(role, 0.0), float(urgency(certificate, now)))
        shown = "the certificate that a member of this role has shown last"
        yield labelled("gemel_member_certificate_days_left", f"Days until {shown} ends.", "role", days)
        yield labelled("gemel_member_certificate_ending", ENDING.format(shown), "role", soon)

    def _read(self) -> Figures | None:
        try:
            return self._monitoring.figures()
        except GemelError:
            return None  # the check of the database logs why

    def _work(self, figures: Figures) -> Iterable[Metric]:
        projects = {state.name.lower(): count for state, count in figures.projects.items()}
        yield labelled("gemel_projects", "Projects by state.", "state", projects)
        runs = {state.name.lower(): count for state, count in figures.runs.items()}
        yield labelled("gemel_runs", "Runs by state, since the store was made.", "state", runs)
        waiting = [run for run in figures.active if run.state is RunState.QUEUED]
        yield gauge("gemel_queue_runs", "Runs that wait for a worker.", len(waiting))
        oldest = max((run.queued_seconds for run in waiting), default=0.0)
        yield gauge("gemel_queue_age_seconds", "Since the oldest waiting run was requested; 0 for none.", oldest)
        progress = GaugeMetricFamily(
            "gemel_run_progress", "Fraction done of the stage that a run is in.", labels=["stage", "project"]
        )
        lease = 0.0
        fractions: dict[tuple[str, str], float] = {}
        for run in figures.active:
            if run.state is RunState.RUNNING:
                # Of several runs without their names in the same stage, the one that has come less far.
                where = (run.stage, run.project if self._label_projects else "")
                fractions[where] = min(run.fraction, fractions.get(where, 1.0))
                lease = max(lease, run.lease_seconds or 0.0)
        for where, fraction in fractions.items():
            progress.add_metric(where, fraction)
        yield progress
        yield gauge(
            "gemel_run_lease_age_seconds", "Since the worker last renewed its lease of a run; 0 for none.", lease
        )

    def _audit(self, figures: Figures) -> Iterable[Metric]:
        yield gauge("gemel_audit_entries", "Entries of the audit log.", figures.audit_entries)
        named = ((str(member.role), figures.witnessed.get(member.name)) for member in self._trust.members)
        seen = {role: witnessed for role, witnessed in named if witnessed is not None}
        what = "Entries of the log that a custodian has countersigned."
        yield labelled("gemel_audit_witnessed_entries", what, "role", {role: one.entries for role, one in seen.items()})
        what = "Since Carole signed the newest checkpoint that a custodian has countersigned."
        yield labelled(
            "gemel_audit_witness_age_seconds", what, "role", {role: one.seconds for role, one in seen.items()}
        )


def _last_run(last: LastRun) -> Iterable[Metric]:
    yield labelled("gemel_last_run_stage_seconds", "Stages of the run that ended last.", "stage", last.stages)
    for name, what in (
        ("candidate_pairs", "Candidate pairs of the run that ended last, to two digits."),
        ("patterns", "Comparison patterns of it, to two digits."),
        ("peak_bytes", "Most memory that its data took."),
        ("granted_bytes", "Memory that it might take."),
    ):
        value = last.sizes.get(name, 0.0)
        yield gauge(f"gemel_last_run_{name}", what, value if name.endswith("_bytes") else _rounded(value))


def _rounded(count: float) -> float:
    """To two digits: exact numbers of pairs of two runs tell what one record more has added."""
    return float(f"{count:.1e}")
