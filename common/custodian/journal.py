"""The service's log: one JSON object a line on standard error, without record values and without secrets."""

from __future__ import annotations

import sys

import structlog


def begin_journal(party: str) -> None:
    """Send every log line to standard error as JSON, with its time, level and party."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(default=lambda value: type(value).__name__),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(party=party)
