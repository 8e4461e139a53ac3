"""Messages between the parties of a session, sealed end to end and passed on by Carole's service.

After a handshake (`shared.session.handshake`) each message is one of AES-256-GCM under the key of its direction and
session, its number the nonce: one that was changed, repeated, left out or cut, or is of another session or link, does
not open. Calls are made by threads of the channel, two for each of the other parties: sending does not wait for an
answer, and the next message is fetched while the former one is worked on. As much as `HELD_BYTES` waits each way.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import ComputeParty
from gemel.common.rpc.status import MAX_MESSAGE_BYTES, typed
from gemel.shared.session.computation_calls import ComputationCalls
from gemel.shared.session.handshake import MAX_OFFER_BYTES, Handshake, link_name

PART_BYTES = MAX_MESSAGE_BYTES - 1024
"""Of a message in one call: what a call may have, but for the fields beside it."""
MAX_CONTENT_BYTES = 1 << 29
"""Of a message: the places of 67 million pairs, the longest list that is not sent in parts."""
HELD_BYTES = 16 << 20
_ASSOCIATED = b"gemel shared message 1"


class RelayedChannel:
    """As `shared.gates.channel.Channel`, of a party that has joined the session."""

    def __init__(self, calls: ComputationCalls, own: ComputeParty) -> None:
        self._calls, self.own = calls, own
        self._ended = _Ended()
        others = (own.next, own.previous)
        self._outgoing = {to: _Outgoing(calls, to, self._ended) for to in others}
        self._incoming = {sender: _Incoming(calls, sender, link_name(sender, own), self._ended) for sender in others}
        self._sending: dict[ComputeParty, _Cipher] = {}
        self._receiving: dict[ComputeParty, _Cipher] = {}
        self._attendance = threading.Thread(
            target=self._ended.watched, args=(self._attend,), name="attendance", daemon=True
        )
        self._attendance.start()
        self.sent_bytes = 0
        """Of all messages, sealed."""
        self.received_bytes = 0

    def agree(self, handshake: Handshake) -> tuple[bytes, bytes]:
        """Exchange the first messages; the keys of shares with the previous and with the next party, 32 bytes each."""
        for to, outgoing in self._outgoing.items():
            outgoing.put(handshake.offer(to))
        keys = {}
        for sender, incoming in self._incoming.items():
            offer = incoming.get(MAX_OFFER_BYTES + 1024)
            keys[sender] = handshake.agreed(sender, offer)
            self._sending[sender] = _Cipher(keys[sender].sending)
            self._receiving[sender] = _Cipher(keys[sender].receiving)
        return keys[self.own.previous].shares, keys[self.own.next].shares

    def send(self, to: ComputeParty, content: bytes | bytearray | memoryview) -> None:
        sealed = self._sending[to].seal(content)
        self.sent_bytes += len(sealed)
        self._outgoing[to].put(sealed)

    def receive(self, sender: ComputeParty) -> bytes:
        sealed = self._incoming[sender].get(MAX_CONTENT_BYTES)
        self.received_bytes += len(sealed)
        cipher = self._receiving[sender]
        try:
            return cipher.open(sealed)
        except InvalidTag:
            what = f"message {cipher.number} is not what {sender.title} has sent as the next one in this session"
            where = link_name(sender, self.own)
            got = f"{len(sealed)} bytes that do not open"
            remedy = "one of the two parties, or what carries their messages, does not keep to the protocol"
            raise GemelError(ErrorCode.DEVIATION, what, where=where, got=got, remedy=remedy) from None

    def finish(self) -> None:
        """All is sent, and this party has done its part; as `send`."""
        for outgoing in self._outgoing.values():
            outgoing.flush()
        self._ended.close()
        self._calls.finish()

    def give_up(self, error: GemelError) -> None:
        self._ended.close()
        self._calls.give_up(error)

    def check(self) -> None:
        self._ended.check()

    def _attend(self) -> None:
        while not self._ended:
            self._calls.attend(tuple(ComputeParty))


class _Ended:
    """Whether the channel has ended, and by which error; wakes whoever waits for something on it."""

    def __init__(self) -> None:
        self._error: GemelError | None = None
        self._closed = False
        self._waiting: list[threading.Condition] = []

    def __bool__(self) -> bool:
        return self._closed or self._error is not None

    def condition(self) -> threading.Condition:
        """A condition that is notified at the end."""
        self._waiting.append(threading.Condition())
        return self._waiting[-1]

    def watched(self, work: Callable[[], None]) -> None:
        """Do a thread's work; an error of it ends the channel."""
        try:
            work()
        except Exception as error:  # noqa: BLE001 - raised again, by those who wait
            what = "something unforeseen happened to the session's messages"
            unforeseen = GemelError(ErrorCode.INTERNAL, what, got=type(error).__name__)
            self._error = self._error or typed(error) or unforeseen
            self._notify()

    def check(self) -> None:
        error = self._error
        if error is not None and not self._closed:
            raise GemelError(error.code, error.what, where=error.where, got=error.got, remedy=error.remedy)
        if self._closed:
            raise GemelError(ErrorCode.UNAVAILABLE, "the session has ended", where="session")

    def close(self) -> None:
        self._closed = True
        self._notify()

    def _notify(self) -> None:
        for condition in self._waiting:
            with condition:
                condition.notify_all()


class _Held:
    """Messages that wait, as many as `HELD_BYTES`; a message always finds room where none waits."""

    def __init__(self, ended: _Ended) -> None:
        self._ended, self._changed = ended, ended.condition()
        self._messages: deque[bytes] = deque()
        self._bytes = 0

    def put(self, message: bytes) -> None:
        with self._changed:
            while self._messages and self._bytes + len(message) > HELD_BYTES and not self._ended:
                self._changed.wait()
            self._ended.check()
            self._messages.append(message)
            self._bytes += len(message)
            self._changed.notify_all()

    def first(self) -> bytes:
        """The oldest, once there is one; it stays."""
        with self._changed:
            while not self._messages and not self._ended:
                self._changed.wait()
            if not self._messages:
                self._ended.check()
            return self._messages[0]

    def drop(self) -> None:
        with self._changed:
            self._bytes -= len(self._messages.popleft())
            self._changed.notify_all()

    def flush(self) -> None:
        """Return once none waits."""
        with self._changed:
            while self._messages and not self._ended:
                self._changed.wait()
            self._ended.check()


class _Outgoing:
    """Messages on their way to one party, sent by a thread."""

    def __init__(self, calls: ComputationCalls, to: ComputeParty, ended: _Ended) -> None:
        self._calls, self._to, self._ended = calls, to, ended
        self._held = _Held(ended)
        self.put, self.flush = self._held.put, self._held.flush
        threading.Thread(target=ended.watched, args=(self._send,), name=f"to-{to.role}", daemon=True).start()

    def _send(self) -> None:
        number = 0
        while not self._ended:
            message = self._held.first()
            parts = max(1, -(-len(message) // PART_BYTES))
            view = memoryview(message)
            for part in range(parts):
                data = message if parts == 1 else bytes(view[part * PART_BYTES : (part + 1) * PART_BYTES])
                self._calls.send(self._to, number, part, parts, data)
            self._held.drop()
            number += 1


class _Incoming:
    """Messages of one party, fetched by a thread before they are asked for."""

    def __init__(self, calls: ComputationCalls, sender: ComputeParty, link: str, ended: _Ended) -> None:
        self._calls, self._sender, self._link, self._ended = calls, sender, link, ended
        self._held = _Held(ended)
        threading.Thread(target=ended.watched, args=(self._fetch,), name=f"from-{sender.role}", daemon=True).start()

    def get(self, max_bytes: int) -> bytes:
        """The next one, waited for."""
        message = self._held.first()
        self._held.drop()
        if len(message) > max_bytes:
            raise self._refusal(f"{len(message)} bytes for at most {max_bytes}")
        return message

    def _fetch(self) -> None:
        number = 0
        while not self._ended:
            message = self._message(number)
            if message is not None:
                self._held.put(message)
                number += 1

    def _message(self, number: int) -> bytes | None:
        """A message, or None if the channel ends before it has come."""
        found: list[bytes] = []
        expected = 0
        while not self._ended:
            received = self._calls.receive(self._sender, number, len(found))
            if received is None:
                continue
            parts, data = received
            if (found and parts != expected) or parts * PART_BYTES > MAX_CONTENT_BYTES:
                raise self._refusal(f"a message of {parts} parts, before of {expected}")
            expected = parts
            found.append(data)
            if len(found) == parts:
                return data if parts == 1 else b"".join(found)
        return None

    def _refusal(self, got: str) -> GemelError:
        what = f"a message is none of {self._sender.title} in this session"
        remedy = "one of the two parties, or what carries their messages, does not keep to the protocol"
        return GemelError(ErrorCode.DEVIATION, what, where=self._link, got=got, remedy=remedy)


class _Cipher:
    """Messages of one direction, in their order."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)
        self.number = 1  # the first is the handshake's
        """Of the next message."""

    def seal(self, content: bytes | bytearray | memoryview) -> bytes:
        sealed = self._cipher.encrypt(self._nonce(), content, _ASSOCIATED)
        self.number += 1
        return sealed

    def open(self, sealed: bytes) -> bytes:
        content = self._cipher.decrypt(self._nonce(), sealed, _ASSOCIATED)
        self.number += 1
        return content

    def _nonce(self) -> bytes:
        return self.number.to_bytes(12, "big")
