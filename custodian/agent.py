"""The loop: request a task from Carole, do one step, repeat.

Every step is idempotent, so only its outcome is stored. The error of a step that fails is shown to the operator: the
project is set aside for a while, longer each time, and tried again at once when the source file, the seed file or one
of `known_files` changes or the operator decides something. A Carole who does not answer is no error of a project; the
request is repeated until she does.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import structlog

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.logging_setup import place_of
from gemel.common.observability.tracing import begin_span, fail_span
from gemel.common.rpc.certificate_endings import MAX_ENDINGS
from gemel.common.rpc.client import CONTROL_SECONDS
from gemel.common.rpc.status import is_own_failure, passes, typed
from gemel.custodian.state.state_database import Project
from gemel.custodian.steps.approval import approve, send_decline
from gemel.custodian.steps.contributing import contribute
from gemel.custodian.steps.handle_submission import submit_row_handles
from gemel.custodian.steps.result_fetch import fetch
from gemel.custodian.steps.seed_agreement import agree
from gemel.custodian.steps.step_context import RESTORED, Outcome, StepContext, StoppedError, Task
from gemel.custodian.steps.variable_sending import fetch_variables, send_variables
from gemel.custodian.steps.witnessing import countersign, witness
from gemel.protos.linkage.v1 import custody_pb2, project_pb2
from gemel.records.registry import file_stamps, source_stamp

# What Carole, and the coordinator through her, are shown of an error here is its kind, and neither a figure nor a text
# (docs/threat-model.md). A refusal is no condition: it is signed, with its reason, and sent on its own.

Condition = project_pb2.CustodianCondition

_OF_RECORDS = ErrorCode.SOURCE, ErrorCode.FIELD_MISSING, ErrorCode.DUPLICATE_IDENTIFIER, ErrorCode.EMPTY_SOURCE
_OF_CONFIGURATION = ErrorCode.CONFIGURATION, ErrorCode.CERTIFICATE, ErrorCode.VAULT
_KINDS = {
    ErrorCode.LEAKAGE: project_pb2.CUSTODIAN_CONDITION_LEAKAGE,
    **dict.fromkeys((*_OF_RECORDS, ErrorCode.TEXT_ENCODING), project_pb2.CUSTODIAN_CONDITION_SOURCE),
    **dict.fromkeys(_OF_CONFIGURATION, project_pb2.CUSTODIAN_CONDITION_CONFIGURATION),
    ErrorCode.MODULE_MISSING: project_pb2.CUSTODIAN_CONDITION_INSTALLATION,
    ErrorCode.STORAGE_FULL: project_pb2.CUSTODIAN_CONDITION_STORAGE,
    ErrorCode.AUDIT: project_pb2.CUSTODIAN_CONDITION_AUDIT,
}


def condition_of(code: ErrorCode) -> Condition:
    """The kind of condition that an error of this code is; OTHER for those that have none of their own."""
    return _KINDS.get(code, project_pb2.CUSTODIAN_CONDITION_OTHER)


STEPS: dict[int, Callable[[StepContext, Task], Outcome]] = {
    custody_pb2.TASK_KIND_APPROVE: approve,
    custody_pb2.TASK_KIND_AGREE: agree,
    custody_pb2.TASK_KIND_CONTRIBUTE: contribute,
    custody_pb2.TASK_KIND_HANDLES: submit_row_handles,
    custody_pb2.TASK_KIND_FETCH: fetch,
    custody_pb2.TASK_KIND_SEND_VARIABLES: send_variables,
    custody_pb2.TASK_KIND_FETCH_VARIABLES: fetch_variables,
}
ObserveStep = Callable[[str, str, float], None]
"""Called with a step's name, its outcome and its seconds."""

_CONTRIBUTED = {
    project_pb2.PROJECT_STATE_CONTRIBUTED,
    project_pb2.PROJECT_STATE_RUN,
    project_pb2.PROJECT_STATE_ASSESSED,
    project_pb2.PROJECT_STATE_HELD,
    project_pb2.PROJECT_STATE_RELEASED,
}
_APPROVED = {project_pb2.PROJECT_STATE_APPROVED, project_pb2.PROJECT_STATE_KEYED}
_WITHDRAWABLE = (_APPROVED | _CONTRIBUTED) - {project_pb2.PROJECT_STATE_RELEASED}
"""Approved by all, and nothing released."""
_SHORT_WAIT_SECONDS = 1.0
_LONGEST_WAIT_SECONDS = 5.0
"""Between two looks at whether another party has done its part."""
_SWEEP_SECONDS = 600.0
_CALLS_AGAIN = frozenset({ErrorCode.UNAVAILABLE, ErrorCode.BUSY, ErrorCode.TOO_MANY_CALLS})
"""Errors that pass by themselves, and soon. A database or disk that has failed passes too, but is shown meanwhile."""
_RANDOM = secrets.SystemRandom()

log = structlog.get_logger()


@dataclass
class Held:
    """A project that is left out of requests for now."""

    until: float
    """Monotonic time; infinite while only the operator can move it."""
    pause: float
    """Seconds of the last pause, doubled each time."""
    stamp: object
    """What the source and seed file were like; a change ends the pause."""


class Agent:
    """Works through Carole's tasks until it is stopped; `observe` receives each step's name, outcome, seconds."""

    def __init__(self, context: StepContext, observe: ObserveStep) -> None:
        self._context = context
        self._observe = observe
        self._polling = context.configuration.poll
        self._held: dict[str, Held] = {}
        self._conditions: dict[str, Condition] = {}
        """Why projects do not go on here, as Carole is shown it."""
        self._decided: set[str] = set()
        """Projects decided about since the step under way began, which may not know of it."""
        self._proposed: dict[str, tuple[bytes, int]] = {}
        """The specification's digest and the epoch of each project, as Carole named them last."""
        self._position = custody_pb2.StatusPosition()
        """Up to where Carole has shown what became of projects; not kept, so that a start is shown everything again."""
        self._more = False
        self._lock = threading.Lock()
        self._changed = threading.Event()
        self._next_sweep = 0.0
        self._absent = False

    def run(self) -> None:
        """Loop until `StepContext.stopping` is set. Errors are logged and shown, and the step is tried again."""
        pause = 0.0
        while not self._context.stopping.is_set():
            try:
                self._sweep()
                self.turn()
                pause = 0.0
            except StoppedError:
                break
            except Exception as error:  # noqa: BLE001 - the service outlives whatever a turn meets
                if self._context.stopping.is_set():
                    break
                pause = self._longer(pause)
                self._lost(error, pause)
                # Drawn, so that the custodians of a Carole who was away do not come back at the same moment.
                self._sleep(max(pause * _RANDOM.uniform(0.75, 1.0), getattr(error, "retry_seconds", 0.0)))

    def turn(self) -> None:
        """Request one task, and do it; UNAVAILABLE when Carole does not answer, or any other error of the request."""
        context, waiting = self._context, self._waiting()
        # The first request is answered at once, so that an operator sees whether Carole answers.
        seconds = self._patience(waiting) if context.progress.connected and not self._more else 0.0
        request = custody_pb2.NextTaskRequest(wait_ms=round(seconds * 1000), waiting=waiting, since=self._position)
        for name, condition in sorted(self._conditions.items()):
            request.conditions.add(project=name, condition=condition)
        begin = time.monotonic()
        response = context.connection.call(context.carole.NextTask, request, deadline=CONTROL_SECONDS + seconds)
        if not context.progress.connected:
            log.info("connected", carole=context.connection.address)
        context.progress.answered()
        self._absent = False
        context.progress.certificates = tuple(response.certificates)[:MAX_ENDINGS]
        self._note(response.projects)
        self._position.CopyFrom(response.position)
        self._more = response.more
        declined = self._decline(response.projects)
        if response.kind in STEPS and response.status.project not in declined:
            self._note([response.status])
            self._step(response)
        elif time.monotonic() - begin < 0.1:
            # She answered at once instead of holding the request: pause, to avoid a busy loop.
            self._sleep(min(seconds, 0.2))
        if response.countersign and response.kind != custody_pb2.TASK_KIND_FETCH:
            self._countersign()

    def _countersign(self) -> None:
        """Countersign the log for the other custodian, which waits for it before it fetches a released share."""
        try:
            countersign(self._context)
        except GemelError as error:
            if error.code in _CALLS_AGAIN:
                raise
            # Of no project: shown to the operator as what keeps the service from going on, as it does.
            log.warning("audit log not countersigned", code=error.code.name, error=str(error))
            self._context.progress.refusal = str(error)
            self._sleep(self._polling.retry_seconds)

    def decided(self, project: str) -> None:
        """The operator has decided something: include the project in the next request."""
        with self._lock:
            self._held.pop(project, None)
            self._decided.add(project)
        self._changed.set()

    def _decline(self, statuses: Iterable[project_pb2.ProjectStatus]) -> set[str]:
        """Withdraw from projects that have gone on without news of the operator's refusal; their names.

        In DRAFT a task does it.
        """
        declined = set()
        for status in statuses:
            known = self._context.state.project(status.project)
            if known is None or known.decision != "declined" or known.decided_digest != status.specification_digest:
                continue
            if status.state in _WITHDRAWABLE:
                declined.add(known.name)
                try:
                    send_decline(self._context, known)
                except GemelError as error:
                    if error.code in _CALLS_AGAIN:
                        raise
                    self._blocking_error(known.name, error)
        return declined

    def _step(self, response: custody_pb2.NextTaskResponse) -> None:
        context, project = self._context, response.status.project
        with self._lock:
            self._decided.discard(project)
        try:
            task = Task.read(response)
            witness(context)
            outcome = self._observed(STEPS[response.kind], task)
        except StoppedError:
            raise
        except GemelError as error:
            if error.code in _CALLS_AGAIN:
                raise
            self._blocking_error(project, error)
        except Exception as error:  # noqa: BLE001 - one project's error must not stop another
            self._blocking_error(project, typed(error) or _incident(project, error))
        else:
            self._went_well(project, outcome)

    def _observed(self, step: Callable[[StepContext, Task], Outcome], task: Task) -> Outcome:
        """Take a step, with a span and a measurement of it."""
        name, ended, begin = step.__name__, "error", time.monotonic()
        span = begin_span(f"step {name}", run=task.run)
        if self._context.configuration.observability.label_projects:
            span.set_attribute("gemel.project", task.project)
        try:
            outcome = step(self._context, task)
            ended = outcome.value
            return outcome
        except Exception as error:
            fail_span(span, error)
            raise
        finally:
            span.end()
            self._observe(name, ended, time.monotonic() - begin)

    def _went_well(self, project: str, outcome: Outcome) -> None:
        known = self._context.state.project(project)
        if known is not None and known.blocking_error:
            self._context.state.update(project, blocking_error="")
        waits = outcome is Outcome.WAITS_FOR_OPERATOR
        if waits and not (known is not None and known.decision == "declined"):
            self._conditions[project] = project_pb2.CUSTODIAN_CONDITION_APPROVAL
        else:
            self._conditions.pop(project, None)
        with self._lock:
            if outcome is Outcome.DONE or project in self._decided:
                self._held.pop(project, None)
                return
            former = self._held.get(project)
            if outcome is Outcome.WAITS_FOR_OPERATOR:
                self._held[project] = Held(float("inf"), 0.0, self._stamp())
            else:
                pause = min(0.2 if former is None else former.pause * 2, _LONGEST_WAIT_SECONDS)
                self._held[project] = Held(time.monotonic() + pause, pause, self._stamp())

    def _blocking_error(self, project: str, error: GemelError) -> None:
        log.warning("step failed", project=project, code=error.code.name, error=str(error))
        if project:
            self._context.state.update(project, blocking_error=str(error))
            if error.remote and is_own_failure(error.code):
                self._conditions.pop(project, None)  # Carole's own failure is no news to her
            else:
                self._conditions[project] = condition_of(error.code)
        with self._lock:
            if project in self._decided:
                return
            former = self._held.get(project)
            pause = self._longer(0.0 if former is None else former.pause)
            self._held[project] = Held(time.monotonic() + pause, pause, self._stamp())

    def _lost(self, error: Exception, pause: float) -> None:
        """Carole does not answer, or a call to her failed in a way that no step is to blame for."""
        self._context.progress.connected = False
        known = error if isinstance(error, GemelError) else _incident("", error)
        self._context.progress.refusal = "" if known.code is ErrorCode.UNAVAILABLE else str(known)
        # Logged once per outage, and not at every attempt that follows.
        if not self._absent or not passes(known.code):
            log.warning("call to carole failed", code=known.code.name, error=str(known), retry_seconds=pause)
        self._absent = True

    def _waiting(self) -> list[str]:
        """Projects to leave out of the next request."""
        now, stamp = time.monotonic(), self._stamp()
        with self._lock:
            self._changed.clear()
            held = self._held.items()
            return sorted(name for name, each in held if name and each.until > now and each.stamp == stamp)

    def _patience(self, waiting: list[str]) -> float:
        """How long Carole may hold the request: at most until a project is to be tried again."""
        if not waiting:
            return self._polling.wait_seconds
        with self._lock:
            soonest = min((held.until for held in self._held.values()), default=0.0) - time.monotonic()
        return max(0.05, min(self._polling.wait_seconds, _SHORT_WAIT_SECONDS, soonest))

    def _stamp(self) -> object:
        configuration = self._context.configuration
        seed = () if configuration.seed_file is None else (configuration.seed_file,)
        return source_stamp(configuration.source), file_stamps((*configuration.known_files, *seed))

    def _note(self, statuses: Iterable[project_pb2.ProjectStatus]) -> None:
        state = self._context.state
        for status in statuses:
            known = state.project(status.project)
            self._note_restored(status, known)
            self._note_proposed(status)
            erased = status.state == project_pb2.PROJECT_STATE_ERASED
            if known is None:
                state.update(status.project, carole_state=status.state, stage="erased" if erased else "")
            elif known.carole_state != status.state or (erased and known.stage != "erased"):
                self._arrived(status)

    def _arrived(self, status: project_pb2.ProjectStatus) -> None:
        """Do what a project's new state requires, and store the state last: what a kill leaves undone is done again."""
        state, name = self._context.state, status.project
        if status.state in _CONTRIBUTED and (upload := state.uploads.newest(name)) is not None:
            # The response to the commit may have been lost, and the task is not offered again.
            state.uploads.mark_committed(upload.id)
        if status.state == project_pb2.PROJECT_STATE_ERASED:
            state.erase_secrets(name)
            state.uploads.erase_payloads(name)
            state.update(name, carole_state=status.state, stage="erased", blocking_error="")
            self._conditions.pop(name, None)
            log.info("erased", project=name)
        else:
            state.update(name, carole_state=status.state)

    def _note_restored(self, status: project_pb2.ProjectStatus, known: Project | None) -> None:
        """Show the operator that a project waits for a decision on Carole's restored log, or no longer does."""
        words = f"{RESTORED} `gemel {self._context.party.name} accept-restore"
        if self._context.party.name in status.restore_awaits:
            self._conditions[status.project] = project_pb2.CUSTODIAN_CONDITION_RESTORE
            text = f"{words} {status.project}` shows what was lost, and the project waits for it"
            if known is None or known.blocking_error != text:
                self._context.state.update(status.project, blocking_error=text)
        elif known is not None and known.blocking_error.startswith(words):
            self._context.state.update(status.project, blocking_error="")
            if self._conditions.get(status.project) == project_pb2.CUSTODIAN_CONDITION_RESTORE:
                self._conditions.pop(status.project)

    def _note_proposed(self, status: project_pb2.ProjectStatus) -> None:
        """Look at another specification or epoch at once: whatever the project was set aside for was about the former.

        Only once for each, or one that cannot be entered would be tried without a pause.
        """
        proposed = status.specification_digest, status.epoch
        with self._lock:
            if self._proposed.get(status.project, proposed) != proposed:
                self._held.pop(status.project, None)
            self._proposed[status.project] = proposed

    def _sweep(self) -> None:
        """Erase maps whose retention has ended."""
        if time.monotonic() < self._next_sweep:
            return
        for project in self._context.state.uploads.erase_expired_maps(time.time()):
            log.info("map erased", project=project)
        self._next_sweep = time.monotonic() + _SWEEP_SECONDS

    def _longer(self, pause: float) -> float:
        return min(max(self._polling.retry_seconds, pause * 2), self._polling.longest_retry_seconds)

    def _sleep(self, seconds: float) -> None:
        """Sleep, interrupted by a decision of the operator or by a stop."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not self._context.stopping.is_set():
            if self._changed.wait(min(left, 0.2)):
                return


def _incident(project: str, error: Exception) -> GemelError:
    """An unforeseen exception as an error without its text, which may hold a value; its type and place are logged."""
    number = secrets.token_hex(8)
    log.error("incident", incident=number, project=project, type=type(error).__name__, at=place_of(error))
    what = "something unforeseen happened"
    got = f"incident {number}"
    remedy = "look the number up in this service's log and report it"
    return GemelError(ErrorCode.INTERNAL, what, where=f"project {project}" if project else "", got=got, remedy=remedy)
