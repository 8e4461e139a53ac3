"""A call that is refused: by which error, and with which words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from gemel.common.errors import ErrorCode, GemelError


@contextmanager
def refusal(code: ErrorCode, match: str = "") -> Iterator[pytest.ExceptionInfo[GemelError]]:
    """A block that ends with an error of this code, whose text has the match."""
    with pytest.raises(GemelError, match=match or None) as caught:
        yield caught
    assert caught.value.code is code, caught.value


@contextmanager
def remedied(code: ErrorCode, match: str) -> Iterator[None]:
    """As `refusal`, and the error says what to do."""
    with refusal(code, match) as caught:
        yield
    assert caught.value.remedy


def refused(code: ErrorCode, call: Callable[..., object], *arguments: Any, **named: Any) -> GemelError:
    """The error of this code by which a call is refused."""
    with refusal(code) as caught:
        call(*arguments, **named)
    return caught.value
