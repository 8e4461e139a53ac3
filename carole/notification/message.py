"""What a receiver gets: names, a state and times; no number of links, no risk, no reason and nothing of a record."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum

VERSION = 1
"""Of the JSON object."""


class Event(StrEnum):
    """What people are notified of."""

    HELD = "held"
    FAILED = "failed"
    REFUSED = "refused"
    RELEASED = "released"
    WAITING = "waiting"
    """A project's specification waits for approvals."""
    CERTIFICATE = "certificate"
    """A member's certificate ends soon."""
    TRIAL = "trial"
    """An operator tries the ways; no configuration names it."""


@dataclass(frozen=True)
class Message:
    """One event."""

    id: str
    """32 hexadecimal digits, the same whenever it is sent again: a receiver that has it already ignores it."""
    event: Event
    """What has happened."""
    at: int
    """When, in milliseconds since 1970."""
    project: str = ""
    run: str = ""
    """`project`, `run`: their names; empty where the event has none."""
    state: str = ""
    """The project's after the event; of a certificate ``soon``, ``urgent`` or ``ended``."""
    waiting_for: tuple[str, ...] = ()
    """Names of the members who have to act."""
    ends: int = 0
    """A certificate's end, in milliseconds since 1970; 0 for other events."""

    def dump(self) -> str:
        """As a JSON object, times in ISO 8601."""
        shown = asdict(self) | {"at": iso(self.at), "ends": iso(self.ends) if self.ends else ""}
        return json.dumps({"version": VERSION, **shown})

    def to_text(self) -> str:
        """As the outbox keeps it."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> Message:
        """From what `to_text` has written."""
        found = json.loads(text)
        return cls(**(found | {"event": Event(found["event"]), "waiting_for": tuple(found["waiting_for"])}))

    @property
    def sentence(self) -> str:
        """For people."""
        return _SENTENCES[self.event].format(
            run=self.run,
            project=self.project,
            whom=", ".join(self.waiting_for),
            ends=f"{'ended' if self.state == 'ended' else 'ends'} on {iso(self.ends)}",
        )


_SENTENCES = {
    Event.HELD: "Run {run} of project {project} is held and waits for a steward: {whom}.",
    Event.FAILED: "Run {run} of project {project} has failed; {whom} decides how to go on.",
    Event.REFUSED: "The result of run {run} of project {project} is refused; {whom} decides how to go on.",
    Event.RELEASED: "Run {run} of project {project} is released.",
    Event.WAITING: "Project {project} waits for approval by {whom}.",
    Event.CERTIFICATE: "The certificate of {whom} {ends}: have it renewed.",
    Event.TRIAL: "A trial: this way of notification works.",
}


def iso(milliseconds: int) -> str:
    """A time in UTC, to the second."""
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"
