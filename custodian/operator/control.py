"""The operator's end of the loopback connection to the running service."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gemel.common.audit import Checkpoint
from gemel.common.configuration import Configuration, load_configuration
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.keys.private_files import write_private
from gemel.common.parties import Party
from gemel.common.pki import Members, PartyFolder
from gemel.common.rpc.client import Connection
from gemel.common.rpc.dry_run import withheld_shown
from gemel.common.rpc.pages import every_page
from gemel.common.rpc.tls import channel_credentials
from gemel.custodian.configuration import load_custodian
from gemel.protos.linkage.v1 import operator_pb2, operator_pb2_grpc, project_pb2

# Where a running service answers its operator: a small file in its state folder, read here so that a command does
# not load the service's packages.

ADDRESS_FILE = "operator.yaml"


class Address(Configuration):
    address: str
    pid: int


def announce(state: Path, address: str) -> None:
    content = json.dumps({"address": address, "pid": os.getpid()})
    write_private(state / ADDRESS_FILE, content.encode(), replace=True)


def running_address(state: Path, party: str) -> Address:
    path = state / ADDRESS_FILE
    if not path.exists():
        what = f"{party.title()}'s service is not running"
        raise GemelError(ErrorCode.UNAVAILABLE, what, where=str(state), remedy=f"start it with `gemel {party} serve`")
    return load_configuration(path, Address)


CONFIRMATION_SECONDS = 10.0
"""How long to wait for the outcome of an approval."""


class Control:
    """Calls to a custodian's running service, at the address in its state folder, with its own certificate."""

    def __init__(self, connection: Connection, party: Party) -> None:
        self._connection = connection
        self._party = party
        self._stub = connection.stub(operator_pb2_grpc.OperatorStub)

    @classmethod
    @contextmanager
    def open(cls, config: Path, party: Party, *, dry_run: bool = False) -> Iterator[Control]:
        """Connect to the service that was started with this configuration.

        In a dry run a call that changes something is withheld and shown, which ends the command. Raises `GemelError`:
        UNAVAILABLE if none is running; CONFIGURATION or CERTIFICATE for invalid files.
        """
        configuration = load_custodian(config)
        found = running_address(configuration.state, party.name)
        credentials = channel_credentials(configuration.keys, party.role, party.role)
        own = Members.load(PartyFolder(configuration.keys).members).in_role(party.role).server_name
        with (
            withheld_shown(),
            Connection(found.address, own, credentials, share_request_ids=True, dry_run=dry_run) as connection,
        ):
            yield cls(connection, party)

    def status(self) -> operator_pb2.StatusResponse:
        pages = every_page(
            lambda after: self._call(self._stub.Status, operator_pb2.StatusRequest(after=after)),
            "the custodian's projects",
        )
        status: operator_pb2.StatusResponse = next(pages)
        for response in pages:
            status.projects.extend(response.projects)
        return status

    def only(self, project: str | None) -> str:
        """The named project, or the only one if none was named; PARAMETER if there is not exactly one."""
        if project is not None:
            return project
        names = [found.project for found in self.status().projects if found.state != project_pb2.PROJECT_STATE_ERASED]
        if len(names) == 1:
            return names[0]
        got = f"projects {', '.join(names)}" if names else "no project yet"
        remedy = f"see `gemel {self._party.name} status`"
        raise GemelError(ErrorCode.PARAMETER, "name the project", got=got, remedy=remedy)

    def profile(self, project: str) -> str:
        """Counts of what was read, as JSON."""
        return str(self._call(self._stub.Profile, operator_pb2.ProfileRequest(project=project)).json)

    def specification(self, project: str) -> operator_pb2.SpecificationResponse:
        request = operator_pb2.SpecificationRequest(project=project)
        response: operator_pb2.SpecificationResponse = self._call(self._stub.Specification, request)
        return response

    def compare(self, digest: bytes, expected: str | None) -> None:
        """Refuse a specification of another digest than the one expected (SPECIFICATION; PARAMETER for one that is no
        digest).
        """
        if expected is None:
            return
        digits = re.sub(r"[\s:-]", "", expected).lower()
        if not re.fullmatch(r"[0-9a-f]{64}", digits):
            raise parameter("--digest", "a digest has 64 hexadecimal digits")
        if digits != digest.hex():
            what = "the specification that waits for approval does not have this digest"
            remedy = "read it, and ask the coordinator which one is meant"
            raise GemelError(ErrorCode.SPECIFICATION, what, where="--digest", got=digest.hex(), remedy=remedy)

    def approve(self, project: str, digest: bytes, epoch: int = 1) -> None:
        request = operator_pb2.OperatorApproveRequest(project=project, specification_digest=digest, epoch=epoch)
        self._call(self._stub.Approve, request)

    def decline(self, project: str, reason: str) -> None:
        """Refuse this custodian's consent, or withdraw it; `outcome_of_decline` shows whether Carole knows."""
        self._call(self._stub.Decline, operator_pb2.DeclineRequest(project=project, reason=reason))

    def leakage(self, project: str) -> operator_pb2.LeakageResponse:
        """What the service has measured that Carole could learn; NOT_FOUND if it has not."""
        request = operator_pb2.LeakageRequest(project=project)
        response: operator_pb2.LeakageResponse = self._call(self._stub.Leakage, request)
        return response

    def override(self, project: str, reason: str) -> None:
        self._call(self._stub.Override, operator_pb2.OverrideRequest(project=project, reason=reason))

    def fetch_alone(self, project: str, reason: str) -> None:
        """Fetch a share without the other custodian's countersignature, with a reason."""
        self._call(self._stub.FetchAlone, operator_pb2.FetchAloneRequest(project=project, reason=reason))

    def show_restored(self, project: str) -> tuple[int, list[str]]:
        """The newest restoration of Carole's store, and what was lost by it, in words."""
        found = self._call(self._stub.ShowRestored, operator_pb2.ShowRestoredRequest(project=project))
        return found.restoration, list(found.lines)

    def decide_restored(self, project: str, restoration: int, *, accept: bool, reason: str) -> list[str]:
        """Accept the restored log for a project, or refuse it; the parties that have not decided yet."""
        request = operator_pb2.DecideRestoredRequest(
            project=project, restoration=restoration, accept=accept, reason=reason
        )
        return list(self._call(self._stub.DecideRestored, request).awaits)

    def checkpoints(self, *, lost: bool = False) -> Iterator[Checkpoint]:
        """The checkpoints of Carole's log that the service has verified, or the lost ones; AUDIT if malformed."""
        from gemel.common.wire.checkpoints import checkpoint_from_wire

        minimum = 0
        while True:
            request = operator_pb2.ListCheckpointsRequest(minimum=minimum, lost=lost)
            reported = self._call(self._stub.ListCheckpoints, request).checkpoints
            if not reported:
                return
            for message in reported:
                found = checkpoint_from_wire(message)
                if found.size < minimum and not lost:
                    raise GemelError(ErrorCode.AUDIT, "checkpoints must be ordered by size", where="checkpoint")
                minimum = max(minimum, found.size + 1)
                yield found

    def outcome_of(self, project: str) -> str:
        """The outcome of an approval within a few seconds, in words."""
        for found in self._watched(project):
            if found.stage == "approved" or found.state > project_pb2.PROJECT_STATE_DRAFT:
                return "Approved: Carole has the signature. The rest happens by itself, once all have signed."
            if found.blocking_error:
                return f"Approved here, but Carole did not accept it: {found.blocking_error}"
        return "Approved here. Carole does not answer at the moment; the signature is sent as soon as she does."

    def outcome_of_decline(self, project: str) -> str:
        """The outcome of a refusal within a few seconds, in words."""
        # Imported here: it needs the service's packages, which an operator's other questions do without.
        from gemel.custodian.steps.step_context import DECLINED

        if any(found.stage == DECLINED for found in self._watched(project)):
            return "Declined: Carole has the refusal and its reason, and has erased what this custodian uploaded."
        return (
            "Declined here: the service does nothing for this project any more. Carole does not know it yet: she is"
            " informed as soon as she answers; look at the status then."
        )

    def _watched(self, project: str) -> Iterator[operator_pb2.CustodianProject]:
        """A project's status, again and again for a few seconds."""
        deadline = time.monotonic() + CONFIRMATION_SECONDS
        while time.monotonic() < deadline:
            yield from (shown for shown in self.status().projects if shown.project == project)
            time.sleep(0.2)

    def stop(self) -> None:
        self._call(self._stub.Stop, operator_pb2.StopRequest())

    def _call(self, method: Any, request: Any) -> Any:
        try:
            return self._connection.call(method, request)
        except GemelError as error:
            if error.code is ErrorCode.UNAVAILABLE:
                what = f"{self._party.title}'s service is not running, or runs with other keys"
                remedy = f"start it with `gemel {self._party.name} serve`, and give both the same --config"
                raise GemelError(ErrorCode.UNAVAILABLE, what, where=self._connection.address, remedy=remedy) from None
            raise
