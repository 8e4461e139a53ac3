"""What each number means, which intruder it supposes, and what would lower it: the words of the report, in JSON."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from gemel.risk.arrays import finite

_WORDS: dict[str, dict[str, str]] = json.loads(files(__package__).joinpath("wording.json").read_text(encoding="utf-8"))
CALIBRATED_TAU2, BAYESIAN = "tau2, calibrated", "Pr(CM), modelled"


def entry(
    name: str, value: float, interval: tuple[float, float] | None = None, *, relied_on: bool = True
) -> dict[str, Any]:
    """A measure with its words, ready for JSON.

    `value`, `interval`: null where they are not finite, or not known; `relied_on`: false where the file itself
    contradicts the model behind it.
    """
    low, high = (None, None) if interval is None else (finite(interval[0]), finite(interval[1]))
    return {"name": name, **_WORDS[name], "value": finite(value), "low": low, "high": high, "relied_on": relied_on}
