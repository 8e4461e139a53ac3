"""A service's log: JSON lines on standard error that hold no record's value and no secret, whoever writes them.

Its own lines are events with named details. Other libraries may put anything into a message, above all an exception's
text, so only the place of theirs is logged.
"""

from __future__ import annotations

import logging
import sys
import threading
from types import TracebackType

import structlog

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

log = structlog.get_logger()


class _Foreign(logging.Handler):
    """Logs that a library logged a message, and where, but not its text."""

    def emit(self, record: logging.LogRecord) -> None:
        log.warning(
            "library", logger=record.name, severity=record.levelname.lower(), at=f"{record.filename}:{record.lineno}"
        )


def begin_log(process: str, level: str = "info") -> None:
    """Send everything to standard error; `process` names the process that logs: alice, bob, carole, worker."""
    structlog.configure(
        processors=[
            # Not a context variable: those of the main thread are not seen in others.
            _named(process),
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            # Anything but a plain value is shown by its type alone.
            structlog.processors.JSONRenderer(default=lambda value: type(value).__name__),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(handlers=[_Foreign()], level=logging.WARNING, force=True)
    sys.excepthook = _uncaught
    threading.excepthook = lambda hook: _uncaught(hook.exc_type, hook.exc_value, hook.exc_traceback)


def place_of(error: BaseException) -> str:
    """File and line where an exception was raised; its text, which may hold a value, stays out."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f"{trace.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{trace.tb_lineno}"


def _named(process: str) -> structlog.typing.Processor:
    def name(logger: object, method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        event["process"] = process
        return event

    return name


def _uncaught(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    log.error("uncaught", type=kind.__name__, at="" if error is None else place_of(error))
