"""Sizes in a configuration: ``512MiB``, ``3GiB``."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_SIZE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?) ?(KiB|MiB|GiB|TiB)")


def _size(text: str) -> str:
    if not _SIZE.fullmatch(text):
        raise ValueError("expected a size such as 512MiB or 3GiB")
    return text


Size = Annotated[str, AfterValidator(_size)]


def size_in_bytes(text: str) -> int:
    """Bytes of a size such as ``3GiB``."""
    match = _SIZE.fullmatch(text)
    assert match is not None  # noqa: S101 - the model has checked it
    return int(float(match[1]) * _UNITS[match[2]])
