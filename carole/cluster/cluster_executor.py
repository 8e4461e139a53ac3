"""An executor of the standard library's kind whose work is done by the workers of a scheduler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING, Any, TypeVar

from gemel.carole.cluster.remote import carried_out
from gemel.carole.cluster.settings import TRIES
from gemel.carole.cluster.tls import unreachable
from gemel.carole.engine.run.unit_pool import LostUnitError
from gemel.common.errors import GemelError
from gemel.common.logging_setup import log, place_of

if TYPE_CHECKING:
    from distributed import Client

Result = TypeVar("Result")


class ClusterExecutor(Executor):
    """Gives what is submitted to workers.

    A unit that fails is tried again, `TRIES` times in all, wherever there is room; its last error counts.

    Parameters
    ----------
    client
        Connected to the scheduler.
    address
        Of the scheduler, for errors.
    installed
        What a worker must have installed.
    """

    def __init__(self, client: Client, address: str, installed: Mapping[str, str]) -> None:
        self._executor: Executor = client.get_executor(retries=TRIES - 1, pure=False)
        self._address = address
        self._installed = installed

    def submit(self, function: Callable[..., Result], /, *arguments: Any, **named: Any) -> Future[Result]:
        """Have a function carried out; arguments may be what `ClusterUnits.shared` gives.

        The future's errors are the function's of type `GemelError`, `LostUnitError`, and UNAVAILABLE where workers or
        scheduler are lost.
        """
        assert not named  # noqa: S101 - Dask has meanings of its own for them
        there = self._executor.submit(carried_out, self._installed, function, *arguments)
        here: Future[Result] = Future()

        def finished(there: Future[Result]) -> None:
            if there.cancelled():
                if not here.cancelled():
                    here.set_exception(unreachable(self._address, "the loss of the connection in the midst of a run"))
            elif here.set_running_or_notify_cancel():
                error = there.exception()
                if error is None:
                    here.set_result(there.result())
                else:
                    here.set_exception(self._translated(error))

        def cancelled(here: Future[Result]) -> None:
            if here.cancelled():
                there.cancel()

        here.add_done_callback(cancelled)
        there.add_done_callback(finished)
        return here

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more; who closes the client ends what is under way."""
        self._executor.shutdown(wait=wait and not cancel_futures)

    def _translated(self, error: BaseException) -> BaseException:
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker, NoValidWorkerError, NoWorkerError

        if isinstance(error, GemelError):
            return error
        if isinstance(error, KilledWorker):
            return LostUnitError(
                f"the end of {TRIES} workers in the midst of it, the last of them {error.last_worker.name}"
            )
        if isinstance(error, NoWorkerError | NoValidWorkerError):
            return unreachable(self._address, "no worker left")
        if isinstance(error, CommClosedError | OSError):
            return unreachable(self._address, type(error).__name__)
        log.error("unit failed", type=type(error).__name__, at=place_of(error))
        return LostUnitError(f"{type(error).__name__} at {place_of(error)}, {TRIES} times")
