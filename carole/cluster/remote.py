"""What is run on a worker: units of Carole's runs, and questions about the worker. Functions of this module alone.

A worker of another installation runs nothing: it may have joined after the run began.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from gemel.carole.cluster.installed import differences, installed
from gemel.carole.engine.run.contribution import SetReference
from gemel.carole.store.payloads.payload_source import provided
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.logging_setup import log, place_of

Value = TypeVar("Value")


@dataclass(frozen=True)
class WorkerFacts:
    """What a worker says of itself."""

    installed: Mapping[str, str]
    error: GemelError | None


def facts(references: Sequence[SetReference]) -> WorkerFacts:
    """What this worker has, and whether it can read such sets."""
    try:
        for reference in references:
            reference.require()
    except GemelError as error:
        return WorkerFacts(installed(), error)
    return WorkerFacts(installed(), None)


def forget() -> None:
    """Keep no data key of the run that has ended."""
    provided().forget()


def carried_out(expected: Mapping[str, str], function: Callable[..., Value], *arguments: Any) -> Value:
    """Work on a unit."""
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
    return GemelError(
        ErrorCode.CONFIGURATION,
        "a worker must have the same installation as Carole",
        where=worker,
        got=different,
        remedy="install the same version of Gemel there, with the packages of its lock, and start it again",
    )
