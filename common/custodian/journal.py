"""The service's log: one JSON object a line on standard error, without record values and without secrets.

Its own lines are events with named details. What other libraries log, and the text of an exception that nobody caught,
may hold anything, so of those only type and place are kept.
"""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from types import TracebackType

import structlog

log = structlog.get_logger()


class _Foreign(logging.Handler):
    """Tells that a library had something to say, and where, but not what."""

    def emit(self, record: logging.LogRecord) -> None:
        log.warning(
            "library", logger=record.name, level_there=record.levelname, at=f"{record.filename}:{record.lineno}"
        )


def begin_journal(party: str) -> None:
    """Send every log line to standard error as JSON, with its time, level and party."""

    def named(_logger: object, _method: str, line: structlog.typing.EventDict) -> structlog.typing.EventDict:
        line["party"] = party
        return line

    structlog.configure(
        processors=[
            named,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            # What is no plain value is told by its type alone.
            structlog.processors.JSONRenderer(default=lambda value: type(value).__name__),
        ],
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(handlers=[_Foreign()], level=logging.WARNING, force=True)
    sys.excepthook = _uncaught
    threading.excepthook = lambda hook: _uncaught(hook.exc_type, hook.exc_value, hook.exc_traceback)


def place_of(trace: TracebackType | None) -> str:
    """File and line where an exception was raised."""
    frames = traceback.extract_tb(trace)
    return f"{frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno}" if frames else ""


def _uncaught(kind: type[BaseException], _error: BaseException | None, trace: TracebackType | None) -> None:
    log.error("uncaught", type=kind.__name__, at=place_of(trace))
