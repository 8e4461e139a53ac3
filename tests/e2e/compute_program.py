"""``gemel compute`` that takes orders: ``... tests.e2e.compute_program ORDERS --config CONFIG --ready-file READY``.

`ORDERS` is a file, read when a session begins. It names a stage, and what is done there: the process stops until it is
killed or has another order, or it does not keep to the protocol.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from gemel.common.parties import ComputeParty
from gemel.common.progress import Progress
from gemel.coordinator.client.compute_service import serve
from gemel.coordinator.client.connection import Client
from gemel.ended_in_order import ended_in_order
from gemel.shared.parties import compute_process as shared_job
from gemel.shared.parties.offered_session import OfferedSession
from gemel.shared.session.joined_session import JoinedSession
from gemel.shared.session.relayed_channel import RelayedChannel

STOP, FLIP, REPLAY, CUT = "stop", "flip", "replay", "cut"


def orders_of(path: Path) -> dict[str, Any]:
    """The newest order; empty for none."""
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


class Deviating:
    """A channel of which one message is wrong: of a stage's messages that are as long as a word of shares or longer.

    Parameters
    ----------
    channel
        Sends all others.
    kind : {"stop", "flip", "replay", "cut"}
        One bit is flipped; the message before it to the same party is sent again; its last byte is left out; or none.
    place
        Which one, from 0.
    """

    def __init__(self, channel: RelayedChannel, kind: str, place: int) -> None:
        self._channel, self._kind, self._left = channel, kind, place
        self.due = False
        self.former: dict[ComputeParty, bytes] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._channel, name)

    def send(self, to: ComputeParty, content: bytes | bytearray | memoryview) -> None:
        sent, before = bytes(content), self.former.get(to, b"")
        self.former[to] = sent
        if self.due and len(sent) >= 8:
            self._left -= 1
        if self.due and self._left < 0:
            self.due = False
            if self._kind == FLIP:
                sent = sent[:3] + bytes([sent[3] ^ 16]) + sent[4:]
            elif self._kind == CUT:
                sent = sent[:-1]
            elif self._kind == REPLAY:
                sent = before
        self._channel.send(to, sent)


def main(config: Path, ready: Path, orders: Path) -> None:
    def take_part(joined: JoinedSession, offered: OfferedSession, member: Client, progress: Progress) -> None:
        order = orders_of(orders)
        channel = Deviating(joined.channel, order.get("kind", STOP), order.get("place", 0))
        reached: list[str] = []

        def obey(stage: str, fraction: float) -> None:
            progress(stage, fraction)
            if stage != order.get("stage") or reached:
                return
            reached.append(stage)
            if order["kind"] != STOP:
                channel.due = True
                return
            orders.with_suffix(f".{order['number']}").touch()
            while orders_of(orders) == order:
                time.sleep(0.02)

        shared_job.take_part(replace(joined, channel=channel), offered, member, obey)  # type: ignore[arg-type]

    serve(config, ready_file=ready, job=take_part)


if __name__ == "__main__":
    with ended_in_order():
        _, orders, _, config, _, ready = sys.argv
        main(Path(config), Path(ready), Path(orders))
