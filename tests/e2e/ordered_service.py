"""A compute process that takes orders: it stops at a stage, or deviates in it (`tests.e2e.compute_program`)."""

from __future__ import annotations

import json

from gemel.coordinator.rehearsal.processes import ServiceProcess
from tests.e2e.deployment import Deployment


class OrderedService(ServiceProcess):
    """The coordinator's or the steward's compute process of a deployment."""

    def __init__(self, made: Deployment, party: str) -> None:
        self._orders = made.logs / f"orders-{party}"
        self._number = 0
        program = ("tests.e2e.compute_program", str(self._orders))
        super().__init__(party, made.client_yaml(party), made.logs, program)

    def order(self, kind: str, stage: str, place: int = 0) -> None:
        """What it does in the next session, with which message of a stage; one that it has stopped in goes on."""
        self._number += 1
        written = self._orders.with_suffix(".new")
        written.write_text(json.dumps({"number": self._number, "kind": kind, "stage": stage, "place": place}))
        written.replace(self._orders)

    def has_stopped(self) -> bool:
        return self._orders.with_suffix(f".{self._number}").exists()
