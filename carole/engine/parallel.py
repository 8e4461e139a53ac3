"""Running tasks on threads with a bounded number in flight, results in the order of the tasks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def in_order(
    pool: ThreadPoolExecutor, function: Callable[[Task], Result], tasks: Iterable[Task], in_flight: int
) -> Iterator[Result]:
    """Yield the results of `function` for each task, in order.

    The executor's own `map` would queue every task at once, and a large product has millions of parts. When a
    task fails, or the caller stops, tasks not yet started are cancelled and the others are waited for.
    """
    waiting: deque[Future[Result]] = deque()
    try:
        for task in tasks:
            waiting.append(pool.submit(function, task))
            if len(waiting) >= in_flight:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
        for future in waiting:
            if not future.cancelled():
                future.exception()
