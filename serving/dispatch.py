"""From the event loop, where calls arrive, to the threads that answer them: each member within its share.

Calls cost no thread while they arrive, wait for their turn, or are refused; and their messages are not read before they
are admitted. The methods themselves are ordinary functions, run by a bounded pool, long polls by a pool of their own;
but for those that only pass messages on, which are coroutines of the event loop (`serving.fairness.IN_LOOP`).
A caller that goes away does not free its place before its method has ended.
"""

from __future__ import annotations

import asyncio
import contextvars
import hashlib
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NoReturn, TypeVar

import grpc

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role
from gemel.common.pki.members import Member
from gemel.common.rpc.access import OWN_PROTOCOL
from gemel.common.rpc.call_metadata import own_clock
from gemel.common.rpc.status import status_of, to_metadata
from gemel.serving.call_recorder import CallRecorder
from gemel.serving.fairness import IN_LOOP, LONG_POLLS, OWN_LIMITS, MemberLimits, MemberShare

Result = TypeVar("Result")


@cache
def event_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="rpc-loop", daemon=True).start()
    return loop


def run_in_loop(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine on the loop, from another thread, and wait for its result; raises what it raises."""
    return asyncio.run_coroutine_threadsafe(coroutine, event_loop()).result()


Metadata = Sequence[tuple[str, str | bytes]]


class AbortedError(Exception):
    """The call ends with a status; what the caller learns is in the context."""


class CallContext:
    """One call."""

    def __init__(self, context: grpc.aio.ServicerContext, may_wait: bool) -> None:
        self.may_wait = may_wait
        self.status: grpc.StatusCode | None = None
        self.message = ""
        self.trailing: Metadata = ()
        self._auth: Mapping[str, Sequence[bytes]] = context.auth_context()
        remaining = context.time_remaining()
        self._end = None if remaining is None else time.monotonic() + remaining
        self._active = True
        context.add_done_callback(self._ended)

    def auth_context(self) -> Mapping[str, Sequence[bytes]]:
        return self._auth

    def time_remaining(self) -> float | None:
        """Seconds until the deadline; None without one."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def is_active(self) -> bool:
        return self._active

    def code(self) -> grpc.StatusCode | None:
        return self.status

    def set_trailing_metadata(self, metadata: Metadata) -> None:
        self.trailing = metadata

    def abort(self, code: grpc.StatusCode, details: str) -> NoReturn:
        self.status, self.message = code, details
        raise AbortedError

    def _ended(self, _: object) -> None:
        self._active = False


def shown_chain(context: grpc.ServicerContext) -> bytes:
    """PEM: the certificate that the peer has proved to hold, then what else it has shown; empty without one."""
    found = context.auth_context()
    own = found.get("x509_pem_cert") or []
    if len(own) != 1:
        return b""
    chain = b"".join(found.get("x509_pem_cert_chain") or [])
    return bytes(chain if chain.startswith(own[0]) else own[0] + chain)


def may_wait(context: grpc.ServicerContext) -> bool:
    """Whether a method may hold this call until there is news; if not, it answers with what there is."""
    return bool(context.may_wait)


MAX_LONG_POLLS = 128
"""Threads for long polls, of all members; they are started as they are needed."""

_MAX_CERTIFICATES, _KNOWN_SECONDS = 1024, 60.0
"""Callers whose members are remembered, and how long: so long a former member still takes of its successor's share."""
_END = object()

Behaviour = Callable[[Any, Any], Any]


class Dispatcher(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    """Runs every handler on a thread, once it is its caller's turn."""

    def __init__(
        self,
        gate: Callable[[Any, Any], Any],
        recorder: CallRecorder | None,
        admit: Callable[[bytes], Member],
        limits: MemberLimits,
        threads: int,
    ) -> None:
        self._gate, self._recorder = gate, recorder
        self._admit = admit
        self._limits = limits
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="rpc")
        self._poll_threads = ThreadPoolExecutor(MAX_LONG_POLLS, thread_name_prefix="poll")
        self._shares: dict[str, MemberShare] = {}
        self._members: dict[bytes, tuple[Member, float]] = {}

    def close(self) -> None:
        """Start no further method."""
        for pool in (self._threads, self._poll_threads):
            pool.shutdown(wait=False, cancel_futures=True)

    async def intercept_service(self, continuation: Any, details: Any) -> Any:
        """The method's handler, dispatched."""
        handler = await continuation(details)
        handler = None if handler is None else self._gate(handler, details)
        if handler is None:
            return None
        if self._recorder is not None:
            handler = self._recorder.wrapped(handler, details)
        # A handler of a stream of requests reads them itself: the one message is read when the call is admitted.
        streams = handler.unary_unary is None
        behaviour = handler.unary_stream if streams else handler.unary_unary
        made = grpc.stream_stream_rpc_method_handler if streams else grpc.stream_unary_rpc_method_handler

        async def dispatched(_: Any, context: grpc.aio.ServicerContext) -> Any:
            return await self._answer(details.method, context, behaviour, streams=streams)

        return made(dispatched, None, handler.response_serializer)

    async def _answer(
        self, method: str, context: grpc.aio.ServicerContext, behaviour: Behaviour, *, streams: bool
    ) -> Any:
        share = self._share(context)
        try:
            async with share.admitted(method):
                request = await _only_message(method, context)
                if method in IN_LOOP:
                    return await self._answer_in_loop(context, share, behaviour, request)
                waits = method in LONG_POLLS and not share.places.locked()
                if waits:
                    await share.places.acquire()
                call = CallContext(context, waits)
                work = _Work(call, share, self._poll_threads if waits else self._threads)
                try:
                    context.set_trailing_metadata((*OWN_PROTOCOL, own_clock()))
                    if not streams:
                        return await work.run(behaviour, request, call)
                    responses = await work.run(behaviour, request, call)
                    while (response := await work.run(next, responses, _END)) is not _END:
                        await context.write(response)
                except AbortedError:
                    context.set_trailing_metadata(call.trailing)
                    await context.abort(call.code(), call.message)
                finally:
                    work.end()
        except GemelError as error:
            if self._recorder is not None:
                self._recorder.refused(method, share.member, error.code)
            context.set_trailing_metadata(to_metadata(error))
            await context.abort(status_of(error.code), error.what)

    async def _answer_in_loop(
        self, context: grpc.aio.ServicerContext, share: MemberShare, behaviour: Behaviour, request: bytes
    ) -> Any:
        call = CallContext(context, may_wait=True)
        try:
            context.set_trailing_metadata((*OWN_PROTOCOL, own_clock()))
            return await behaviour(request, call)
        except AbortedError:
            share.charge()
            context.set_trailing_metadata(call.trailing)
            await context.abort(call.code(), call.message)

    def _share(self, context: grpc.aio.ServicerContext) -> MemberShare:
        shown, now = shown_chain(context), time.monotonic()
        caller = hashlib.sha256(shown).digest()
        member, until = self._members.get(caller, (None, now))
        if member is None or until < now:
            member = None
            try:
                member = self._admit(shown)
            except GemelError:
                pass  # the gate refuses it, and logs why
            else:
                if len(self._members) >= _MAX_CERTIFICATES:
                    self._members.clear()
                self._members[caller] = member, now + _KNOWN_SECONDS
        name = "" if member is None else member.name
        if name not in self._shares:
            own = member is not None and member.role is Role.LINKER
            self._shares[name] = MemberShare(member, OWN_LIMITS if own else self._limits)
        return self._shares[name]


async def _only_message(method: str, context: grpc.aio.ServicerContext) -> bytes:
    message = await context.read()
    if message is grpc.aio.EOF:
        raise GemelError(ErrorCode.MALFORMED, "the call has no message", where=method)
    return bytes(message)


class _Work:
    """What is done on threads for one call, one thing after another, and the place it takes meanwhile."""

    def __init__(self, call: CallContext, share: MemberShare, pool: ThreadPoolExecutor) -> None:
        self._call, self._share, self._pool = call, share, pool
        # What a method binds for its log lines holds for this call, whichever threads it runs on, and for no other.
        self._variables = contextvars.copy_context()
        self._running = False
        self._ended = False

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a function on a thread; a long poll has its place already."""
        if not self._call.may_wait:
            await self._share.slots.acquire()
        try:
            future = self._pool.submit(self._variables.run, function, *arguments)
        except BaseException:
            self._finished()
            raise
        self._running = True
        future.add_done_callback(lambda _: event_loop().call_soon_threadsafe(self._finished))
        return await asyncio.wrap_future(future)

    def end(self) -> None:
        """The call has ended; what still runs for it keeps its place until it ends too."""
        self._ended = True
        if self._call.may_wait and not self._running:
            self._share.places.release()

    def _finished(self) -> None:
        self._running = False
        if not self._call.may_wait:
            self._share.slots.release()
        elif self._ended:
            self._share.places.release()
