"""A database's URL: where it is kept, and what it says of the way to the rows."""

from __future__ import annotations

import os

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.private_files import read_private
from gemel.common.records.sources import DatabaseSource


def stated_url(source: DatabaseSource) -> str:
    """The URL of a source, as it is written."""
    if source.url_file is not None:
        return read_private(source.url_file, "the database's URL").decode("utf-8", errors="replace").strip()
    if source.url_variable is not None:
        url = os.environ.get(source.url_variable, "").strip()
        if not url:
            raise GemelError(
                ErrorCode.CONFIGURATION,
                f"the environment variable {source.url_variable} is not set",
                where="source.database.url_variable",
                remedy="set it to the database's URL where the service is started",
            )
        return url
    assert source.url is not None  # noqa: S101
    return source.url


def parts(url: str) -> URL:
    """What a URL consists of.

    Raises
    ------
    GemelError
        CONFIGURATION for a text that is no URL; it is not shown.
    """
    try:
        return make_url(url)
    except (ArgumentError, ValueError):
        # ValueError: a port that is no number, which the message would show.
        raise unknown_url() from None


def unknown_url() -> GemelError:
    """The error (CONFIGURATION) for a URL that names no known database."""
    return bad_url(
        "the database's URL is not one that SQLAlchemy knows",
        "write it as dialect+driver://user:password@host:port/database",
    )


def bad_url(what: str, remedy: str) -> GemelError:
    """An error (CONFIGURATION) about the URL."""
    return GemelError(ErrorCode.CONFIGURATION, what, where="source.database", remedy=remedy)
