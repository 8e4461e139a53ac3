"""What a custodian's service shows of itself: its metrics, by name, its probes, and the record of its operator's calls.

Nothing of a record or of its source is among them: states of projects, durations of steps, disks and certificates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from prometheus_client import Histogram
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity_configuration import check_identity
from gemel.common.keys.wrapping_configuration import check_wrapping
from gemel.common.observability.families import gauge, labelled, service_metrics
from gemel.common.observability.machine_check import check_writable
from gemel.common.observability.readiness import Readiness, Recent
from gemel.common.pki.folders import PartyFolder
from gemel.common.rpc.observation import Observation
from gemel.common.rpc.trust import Trust
from gemel.common.versions import CUSTODIAN_STATE, WIRE
from gemel.custodian.agent import ObserveStep
from gemel.custodian.operator.open_decisions import waits_for_operator
from gemel.custodian.state.state_tables import Project
from gemel.custodian.steps.step_context import StepContext
from gemel.protos.linkage.v1 import project_pb2

AGENT = "agent"
"""The check of the thread that works through Carole's tasks."""
REMEMBERED_SECONDS = 5.0
_STEP_SECONDS = (0.1, 1.0, 10.0, 60.0, 600.0)
"""Bounds of the histogram: to sign a large file takes minutes."""


def observe(context: StepContext, trust: Trust, agent: Callable[[], bool]) -> tuple[Observation, ObserveStep]:
    """The metrics and probes of one custodian's service, not yet started, and what counts its steps.

    Parameters
    ----------
    context
        What the steps share.
    trust
        The certificates.
    agent
        Whether the thread that works through Carole's tasks is alive.
    """
    configuration = context.configuration
    folder = PartyFolder(configuration.keys)

    def check_state() -> None:
        # Every transaction on the state begins as one that writes.
        context.state.projects()
        check_writable(context.state.folder, "the state folder")

    def check_keys() -> None:
        check_wrapping(configuration.wrapping, folder.wrapping, context.keyring.vault)
        check_identity(configuration.identity, folder.identity, context.keyring.identity)

    def check_agent() -> None:
        if context.stopping.is_set() or not agent():
            raise GemelError(ErrorCode.UNAVAILABLE, "the service is stopping")

    readiness = Readiness({"state": check_state, "keys": check_keys, AGENT: check_agent})
    versions = {"wire": WIRE, "state": str(CUSTODIAN_STATE)}
    # The operator's calls come from this custodian's own programs: their ids are its own.
    made = Observation(configuration.observability, readiness, versions, callers_requests=True)
    made.registry.register(_CustodianMetrics(context, readiness, trust))
    steps = Histogram(
        "gemel_step_seconds",
        "Steps of a custodian's work, how they ended, and how long they took.",
        ["step", "outcome"],
        buckets=_STEP_SECONDS,
        registry=made.registry,
    )

    def count(name: str, outcome: str, seconds: float) -> None:
        steps.labels(name, outcome).observe(seconds)

    return made, count


class _CustodianMetrics(Collector):
    def __init__(self, context: StepContext, readiness: Readiness, trust: Trust) -> None:
        self._context = context
        self._readiness = readiness
        self._trust = trust
        self._projects = Recent(self._read, REMEMBERED_SECONDS)

    def collect(self) -> Iterable[Metric]:
        """The metrics as they are now."""
        context = self._context
        yield from service_metrics(self._readiness, {"state": context.state.folder}, self._trust.in_use())
        connected = context.progress.connected
        yield gauge("gemel_carole_connected", "Whether Carole answered the last call.", float(connected))
        silence = context.progress.silence
        yield gauge("gemel_carole_silence_seconds", "Since Carole last answered, or since the start.", silence)
        projects = self._projects()
        yield gauge("gemel_state_up", "Whether the state was read for this page.", float(projects is not None))
        if projects is not None:
            yield from self._work(projects)

    def _read(self) -> list[Project] | None:
        try:
            return self._context.state.projects()
        except Exception:  # noqa: BLE001 - the check of the state logs why
            return None

    def _work(self, projects: list[Project]) -> Iterable[Metric]:
        states = Counter(project.carole_state for project in projects)
        named = {
            name.removeprefix("PROJECT_STATE_").lower(): float(states[number])
            for name, number in project_pb2.ProjectState.items()
        }
        yield labelled("gemel_projects", "Projects by their state at Carole.", "state", named)
        blocked = sum(bool(project.blocking_error) for project in projects)
        yield gauge("gemel_projects_blocked", "Projects whose step failed; it is tried again.", blocked)
        policy = self._context.configuration.policy
        waiting = sum(waits_for_operator(project, policy) for project in projects)
        yield gauge("gemel_projects_waiting", "Projects that wait for this custodian's operator.", waiting)
