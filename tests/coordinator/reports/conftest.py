"""Pages of reports share most of their drawings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import vl_convert


@pytest.fixture(scope="package", autouse=True)
def drawn_once() -> Iterator[None]:
    """The renderer draws what is the same on many pages once."""
    render, drawings = vl_convert.vegalite_to_svg, {}

    def drawn(spec: dict[str, Any], **options: Any) -> str:
        key = json.dumps([spec, options])
        if key not in drawings:
            drawings[key] = render(spec, **options)
        return str(drawings[key])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vl_convert, "vegalite_to_svg", drawn)
        yield
