"""A model against the file's own DIS: both say how likely a unique match is right, and only one needs a model for it.

DIS counts the pairs of the file, and its interval covers whatever goes together with what. A model implies the same
chance, n1 over the people expected to match a sample unique. Where that is outside the interval, the model expects too
few or too many people in the rare combinations as a whole, and what it says of single records, or of tau, is not to be
relied on. Inside the interval it may still be wrong; at a confidence of .95 a right model is outside in one file of
twenty.
"""

from __future__ import annotations

import math

from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.risk.identification.file_level import Dis


def agrees(dis: Dis, implied: float) -> bool:
    """Whether Pr(CM | UM) that a model implies is in the interval of DIS; true of a file without sample uniques."""
    return distance(dis, implied) == 0.0


def distance(dis: Dis, implied: float) -> float:
    """How far it is outside: logarithm of the ratio to the nearer limit, 0 inside."""
    if dis.uniques == 0:
        return 0.0
    rounding = 1e-9
    if implied < dis.low * (1.0 - rounding):
        return math.log(dis.low / implied) if implied > 0 else math.inf
    return math.log(implied / dis.high) if implied > dis.high * (1.0 + rounding) else 0.0


def disagreement(dis: Dis, implied: float, model: str) -> ResultWarning | None:
    """The warning where a model contradicts DIS."""
    if agrees(dis, implied):
        return None
    return result_warning(
        "model_contradicts_dis",
        model=model,
        implied=implied,
        dis=dis.value,
        low=dis.low,
        high=dis.high,
        direction="too high" if implied > dis.high else "too low",
    )
