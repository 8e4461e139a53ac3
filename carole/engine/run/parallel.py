"""Running tasks by an executor with a bounded number in flight, results in the order of the tasks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def in_order(
    pool: Executor, function: Callable[..., Result], tasks: Iterable[Task], in_flight: int, *shared: Any
) -> Iterator[Result]:
    """Yield the results of `function` for each task, in order; `shared` are further arguments, the same for all.

    The executor's own `map` would queue every task at once, and a large product has millions of parts. When a
    task fails, or the caller stops, tasks not yet started are cancelled and the others are waited for.
    """
    waiting: deque[Future[Result]] = deque()
    try:
        for task in tasks:
            waiting.append(pool.submit(function, task, *shared))
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
