"""The pool of units of a run whose shards are worked on by other machines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from gemel.carole.cluster.engine_section import DaskEngine
from gemel.carole.cluster.settings import CONNECT_SECONDS, TRIES, differences, installed, security, use_dask
from gemel.carole.cluster.tls import require_admitted, unreachable
from gemel.carole.engine.run.contribution import SetReference
from gemel.carole.engine.run.resources import LostUnitError, MemoryBudget, UnitPool, mebibytes
from gemel.carole.store.payloads.payload_reader import provided
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.logging_setup import log, place_of

if TYPE_CHECKING:
    from distributed import Client


# What is run on a worker: units of Carole's runs, and questions about the worker. Functions of this module alone.

Value = TypeVar("Value")


def checked(references: Sequence[SetReference]) -> tuple[Mapping[str, str], GemelError | None]:
    """What this worker has, and why it cannot read such sets, if it cannot."""
    try:
        for reference in references:
            reference.require()
    except GemelError as error:
        return installed(), error
    return installed(), None


def forget() -> None:
    """Keep no data key of the run that has ended."""
    provided().forget()


def carried_out(expected: Mapping[str, str], function: Callable[..., Value], *arguments: Any) -> Value:
    if different := differences(expected, installed()):
        raise other_installation("a worker", different)
    try:
        return function(*arguments)
    except GemelError as error:
        log.error("unit failed", code=error.code.name, error=str(error))
        raise
    except Exception as error:
        log.error("unit failed", type=type(error).__name__, at=place_of(error))
        raise


def itself(value: Value) -> Value:
    """The value: as a unit it is sent to the scheduler once, and reaches workers that join later."""
    return value


def other_installation(worker: str, different: str) -> GemelError:
    """The error for a worker whose numbers might be others."""
    what = "a worker must have the same installation as Carole"
    remedy = "install the same version of Gemel there, with the packages of its lock, and start it again"
    return GemelError(ErrorCode.CONFIGURATION, what, where=worker, got=different, remedy=remedy)


# An executor of the standard library's kind whose work is done by the workers of a scheduler.


class ClusterExecutor(Executor):
    """Gives what is submitted to workers.

    A unit that fails is tried again, `TRIES` times in all, wherever there is room; its last error counts.
    """

    def __init__(self, client: Client, address: str, installed: Mapping[str, str]) -> None:
        self._executor: Executor = client.get_executor(retries=TRIES - 1, pure=False)
        self._address = address
        self._installed = installed

    def submit(self, function: Callable[..., Value], /, *arguments: Any, **named: Any) -> Future[Value]:
        """Have a function carried out; arguments may be what `ClusterUnits.shared` gives.

        The future's errors are the function's of type `GemelError`, `LostUnitError`, and UNAVAILABLE where workers or
        scheduler are lost.
        """
        assert not named  # noqa: S101 - Dask has meanings of its own for them
        there = self._executor.submit(carried_out, self._installed, function, *arguments)
        here: Future[Value] = Future()

        def finished(there: Future[Value]) -> None:
            if there.cancelled():
                if not here.cancelled():
                    here.set_exception(unreachable(self._address, "the loss of the connection in the midst of a run"))
            elif here.set_running_or_notify_cancel():
                error = there.exception()
                if error is None:
                    here.set_result(there.result())
                else:
                    here.set_exception(self._translated(error))

        def cancelled(here: Future[Value]) -> None:
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
            last = error.last_worker.name
            return LostUnitError(f"the end of {TRIES} workers in the midst of it, the last of them {last}")
        if isinstance(error, NoWorkerError | NoValidWorkerError):
            return unreachable(self._address, "no worker left")
        if isinstance(error, CommClosedError | OSError):
            return unreachable(self._address, type(error).__name__)
        log.error("unit failed", type=type(error).__name__, at=place_of(error))
        return LostUnitError(f"{type(error).__name__} at {place_of(error)}, {TRIES} times")


WORKER_SECONDS = 60
"""How long to wait for the first worker."""

MIN_IN_FLIGHT = 16
"""Units under way at the least, so that workers that join later have some."""


class ClusterUnits:
    def __init__(self, client: Client, engine: DaskEngine, threads: Sequence[int]) -> None:
        self.executor: Executor = ClusterExecutor(client, engine.address, installed())
        self._client = client
        self._engine = engine
        self._threads = threads

    def room_for(self, unit_bytes: int, budget: MemoryBudget) -> int:
        """Twice as many units as there are threads, so that none waits for the next one; nothing is reserved here.

        Raises MEMORY if the threads of a worker together need more than `engine.worker_memory`.
        """
        needed = max(self._threads) * unit_bytes
        if needed > self._engine.worker_bytes:
            each = f"{mebibytes(unit_bytes)} of a worker's memory for each of its {max(self._threads)} threads"
            got = mebibytes(self._engine.worker_bytes)
            remedy = "give workers more of it or fewer threads, block more finely, or use fewer bits"
            what = f"the largest shard of both files needs {each}"
            raise GemelError(ErrorCode.MEMORY, what, where="engine.worker_memory", got=got, remedy=remedy)
        return max(MIN_IN_FLIGHT, 2 * sum(self._threads))

    def shared(self, value: Value) -> Value:
        """A future of the value, which stands for it in an argument; workers send it to each other."""
        return cast(Value, self._client.submit(itself, value, pure=False))


@contextmanager
def cluster_units(engine: DaskEngine, references: Sequence[SetReference]) -> Iterator[UnitPool]:
    """Connect to a scheduler for a run that reads such sets; every worker has the same installation and can read them.

    Raises MODULE_MISSING without the extra `cluster`; as `require_admitted`; CONFIGURATION for a worker of another
    installation; the errors of a worker that cannot read the sets; UNAVAILABLE if there is no worker.
    """
    use_dask()
    require_admitted(engine.address, engine)
    client = _connected(engine)
    try:
        threads = _require_alike(client, engine, references)
        log.info("units go to a cluster", scheduler=engine.address, workers=len(threads), threads=sum(threads))
        yield ClusterUnits(client, engine, threads)
    finally:
        with suppress(Exception):  # what is left of a cluster that is gone
            client.run(forget, on_error="ignore")
        with suppress(Exception):
            client.close(timeout=5)


def _connected(engine: DaskEngine) -> Client:
    from distributed import Client

    connect = partial(Client, engine.address, security=security(engine), timeout=CONNECT_SECONDS, name="carole")
    try:
        # Neither is it the default of other code, nor does it call workers itself: only the scheduler.
        client: Client = connect(set_as_default=False, direct_to_workers=False)
    except OSError as error:
        raise unreachable(engine.address, type(error).__name__) from None
    try:
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    except OSError as error:
        with suppress(Exception):
            client.close(timeout=5)
        late = f"no worker in {WORKER_SECONDS} seconds"
        raise unreachable(engine.address, late if isinstance(error, TimeoutError) else type(error).__name__) from None
    return client


def _require_alike(client: Client, engine: DaskEngine, references: Sequence[SetReference]) -> list[int]:
    """Refuse the run if a worker would compute, or cannot read; the threads of each."""
    found: Mapping[str, Any] = client.run(checked, tuple(references), on_error="return")
    workers = client.scheduler_info()["workers"]
    for address, answer in found.items():
        worker = f"worker {workers[address]['name']} at {address}" if address in workers else f"worker at {address}"
        if not isinstance(answer, tuple):
            # It has no such function: another version of Gemel, or none.
            raise other_installation(worker, f"{type(answer).__name__} when it was asked for its versions")
        there, error = answer
        if different := differences(installed(), there):
            raise other_installation(worker, different)
        if error is not None:
            where = f"{worker}: {error.where}" if error.where else worker
            raise GemelError(error.code, error.what, where=where, got=error.got, remedy=error.remedy)
    if not found:
        raise unreachable(engine.address, "no worker left")
    return [int(workers[address]["nthreads"]) for address in found if address in workers] or [1]
