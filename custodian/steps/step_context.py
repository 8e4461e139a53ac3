"""What every step of a custodian's work needs, the task it receives, and the outcome it returns."""

from __future__ import annotations

import threading
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Party
from gemel.common.rpc.client import CONTROL_SECONDS, Connection
from gemel.common.rpc.transfer import Content, Fetch, Step, send
from gemel.common.rpc.trust import Trust
from gemel.common.specification import Specification, encoding_digest, load_specification, specification_digest
from gemel.common.witnessing.log_reader import LogReader
from gemel.custodian.configuration import CustodianConfiguration
from gemel.custodian.leakage_report import Gate
from gemel.custodian.state.custodian_state import State
from gemel.custodian.state.row_map import Keyring
from gemel.protos.linkage.v1 import custody_pb2, custody_pb2_grpc, project_pb2


class Doing(NamedTuple):
    """The current stage, and the fraction of it that is done, from 0 to 1."""

    stage: str
    fraction: float


class Progress:
    """Written by the agent's thread, read by those that answer the operator; each value is set as a whole."""

    def __init__(self) -> None:
        self.doing: dict[str, Doing] = {}
        self.connected = False
        """Whether Carole answered the last call."""
        self.refusal = ""
        """Why no call to Carole is possible, if that is more than that she does not answer; until one succeeds."""
        self.certificates: tuple[project_pb2.EndingCertificate, ...] = ()
        """Members' certificates that end soon, as Carole has reported them last."""
        self._heard = time.monotonic()

    def answered(self) -> None:
        self.connected, self.refusal, self._heard = True, "", time.monotonic()

    @property
    def silence(self) -> float:
        """Seconds since Carole last answered, or since the start."""
        return time.monotonic() - self._heard

    @contextmanager
    def stage(self, project: str, name: str) -> Iterator[None]:
        self.update(project, name, 0.0)
        try:
            yield
        finally:
            self.doing.pop(project, None)

    def update(self, project: str, name: str, fraction: float) -> None:
        self.doing[project] = Doing(name, min(1.0, max(0.0, fraction)))


@dataclass
class Stopwatch:
    """Seconds per stage of one step."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def measure(self, name: str) -> Iterator[None]:
        """Add the time a block takes to ``<name>_seconds``."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            key = f"{name}_seconds"
            self.seconds[key] = round(self.seconds.get(key, 0.0) + time.perf_counter() - begin, 6)


_ATTEMPTS = 3
DECLINED = "declined: Carole has the refusal"
"""The stage of a project that this custodian does not take part in, once Carole knows it."""
RESTORED = "Carole's store was restored from a backup:"
"""How the error begins that a project shows while it waits for a decision on her restored log."""


class Outcome(Enum):
    """How a step ended, if not with an error."""

    DONE = "done"
    WAITS_FOR_OPERATOR = "waits for the operator"
    WAITS_FOR_OTHERS = "waits for others"


class StoppedError(Exception):
    """The service is to stop; the step is repeated after the next start."""


@dataclass(frozen=True)
class StepContext:
    """What every step needs."""

    party: Party
    configuration: CustodianConfiguration
    keyring: Keyring
    state: State
    progress: Progress
    connection: Connection
    carole: custody_pb2_grpc.CustodyStub
    """Her service for custodians. Made once: grpcio crashes when a stub is made of a channel that is closed."""
    log_reader: LogReader
    stopping: threading.Event
    trust: Trust
    """The newest membership list."""
    gate: Gate | None = None
    """Measures what Carole could learn; a program that has none contributes unmeasured."""
    offered: dict[tuple[str, str], tuple[int, float]] = field(default_factory=dict)
    """By project and run: the size of Carole's audit log, and the monotonic time, when the share was first offered to
    this service; see `witnessing`."""

    def call(self, method: Any, request: Any, deadline: float = CONTROL_SECONDS) -> Any:
        """Call an idempotent method of Carole's, again while she does not answer; errors are those of `Connection`."""
        return self.connection.call(method, request, deadline=deadline, attempts=_ATTEMPTS)

    def fetch(self, task: Task, method: Any, request: Callable[..., Any], where: str, doing: str = "") -> Fetch:
        """Content from Carole, chunk by chunk; `request` makes the message for an ``index``; `doing` is the stage whose
        progress is shown, if any.
        """
        step = self._step(task.project, doing)
        return Fetch(self.connection, method, lambda index: request(index=index), where, step=step)

    def send(
        self,
        task: Task,
        method: Any,
        request: Callable[..., Any],
        content: Content,
        doing: str = "",
        indices: Iterable[int] | None = None,
    ) -> None:
        """Send content to Carole, all chunks of it or some; `request` makes the message of a ``chunk``."""
        step = self._step(task.project, doing)
        send(self.connection, method, lambda chunk: request(chunk=chunk), content, indices, step)

    def _step(self, project: str, doing: str) -> Step:
        def step(done: float) -> None:
            self.check_stop(project)
            if doing:
                self.progress.update(project, doing, done)

        return step

    def check_stop(self, project: str) -> None:
        """Leave a long step when the service is to stop, or when the operator has declined the project meanwhile."""
        if self.stopping.is_set():
            raise StoppedError
        known = self.state.project(project)
        if known is not None and known.decision == "declined":
            raise GemelError(ErrorCode.SPECIFICATION, "the operator has declined it", where=f"project {project}")


@dataclass(frozen=True)
class Task:
    """A task from Carole, after its specification was read and its digests were computed here."""

    kind: int
    project: str
    spec: Specification
    text: str
    specification_digest: bytes
    encoding_digest: bytes
    epoch: int
    messages: Sequence[custody_pb2.AgreementMessage]
    run: str
    upload: str = ""
    """The custodian's upload that a run's rows are of; empty where the task is of no run."""
    recipient: str = ""
    """To whom columns are to be sent: alice, bob, or an analyst's name."""
    new_epoch: project_pb2.NewEpoch | None = None
    """What has opened the epoch; None in the first."""
    owner: str = ""
    """The coordinator that the project belongs to, as Carole names it."""
    approvals: Sequence[project_pb2.Approval] = ()
    """Of the specification, as Carole shows them."""

    @property
    def of_run(self) -> str:
        """What an error of this task's run is about."""
        return f"project {self.project}, run {self.run}"

    @classmethod
    def read(cls, message: custody_pb2.NextTaskResponse) -> Task:
        """Read Carole's response; whatever can be computed here is not taken from it.

        Raises `GemelError`: SPECIFICATION if the text is no valid specification, is another project's, or does not have
        the digests that Carole sent: the two run different versions, or she shows different parties different texts.
        """
        status = message.status
        spec = load_specification(message.specification, f"the specification of project {status.project}")
        found = specification_digest(spec), encoding_digest(spec)
        if spec.project != status.project or found != (status.specification_digest, status.encoding_digest):
            what = "the specification from Carole does not have the digests she sent with it"
            got = f"specification {found[0].hex()[:16]} and encoding {found[1].hex()[:16]} with Python's tables of "
            got += f"Unicode {unicodedata.unidata_version}"
            remedy = "run the same versions of Gemel and of Python (3.11, 3.12, ... carry different Unicode tables) "
            remedy += "as Carole; if you do, ask the coordinator to compare digests"
            raise GemelError(ErrorCode.SPECIFICATION, what, where=f"project {status.project}", got=got, remedy=remedy)
        return cls(
            kind=message.kind,
            project=spec.project,
            spec=spec,
            text=message.specification,
            specification_digest=found[0],
            encoding_digest=found[1],
            epoch=status.epoch,
            messages=tuple(message.messages),
            run=message.run,
            upload=message.upload,
            recipient=message.recipient,
            new_epoch=message.new_epoch if message.HasField("new_epoch") else None,
            owner=status.owner,
            approvals=tuple(status.approvals),
        )


def refuse_former_epoch(context: StepContext, task: Task) -> None:
    """Refuse to go back to an epoch."""
    known = context.state.project(task.project)
    if known is not None and task.epoch < known.epoch:
        what = f"Carole requests work in an epoch before {known.epoch}"
        got = str(task.epoch)
        remedy = "ask Carole's operator whether her database was restored from an old backup"
        raise GemelError(ErrorCode.EPOCH_MISMATCH, what, where=f"project {task.project}", got=got, remedy=remedy)


def require_approved(context: StepContext, task: Task) -> None:
    """Refuse to work on any specification but the one this custodian has approved, and in any other epoch."""
    refuse_former_epoch(context, task)
    project = context.state.project(task.project)
    if project is None or project.decision != "approved" or project.decided_digest != task.specification_digest:
        what = "Carole requests work on a specification that this custodian has not approved"
        got = f"specification {task.specification_digest.hex()[:16]}"
        command = f"`gemel {context.party.name} specification {task.project}`"
        remedy = f"read it with {command} and approve it if it is right"
        raise GemelError(ErrorCode.SPECIFICATION, what, where=f"project {task.project}", got=got, remedy=remedy)
    if task.epoch != project.epoch:
        what = "Carole requests work in an epoch that this custodian's operator has not consented to"
        got = f"epoch {task.epoch} instead of {project.epoch}"
        remedy = "telephone the coordinator: did it open a new epoch?"
        raise GemelError(ErrorCode.EPOCH_MISMATCH, what, where=f"project {task.project}", got=got, remedy=remedy)
