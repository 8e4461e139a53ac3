"""The event loop of a process's servers, on a thread of its own: one for all of them, made when the first one starts.

gRPC's asynchronous servers of one process share a queue of events, which belongs to one loop.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from functools import cache
from typing import Any, TypeVar

Result = TypeVar("Result")


@cache
def event_loop() -> asyncio.AbstractEventLoop:
    """The loop, which runs until the process ends."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="rpc-loop", daemon=True).start()
    return loop


def run_in_loop(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine on the loop, from another thread, and wait for its result; raises what it raises."""
    return asyncio.run_coroutine_threadsafe(coroutine, event_loop()).result()
