"""The extended latent step: match probabilities and the joint distribution of both files' variables, together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from pydantic import Field

from tryst.common.specification.mistakes import Mistake, nearest, shown
from tryst.common.specification.section import Name, Section
from tryst.common.specification.variables import VariableSpec

MAX_KEYS = 16


class LatentSpec(Section):
    """The extended latent step, after Fellegi-Sunter: a pair is judged by whether its values agree and also by what
    they are, and the joint distribution of all variables is estimated with it. It needs `variables` of both files, or
    `keys`."""

    keys: tuple[Name, ...] = Field(default=(), strict=False, max_length=MAX_KEYS)
    """Compared fields whose value counts too where it agrees exactly: an agreement on a rare one says more. A key that
    is among the `variables` of both files takes its categories from there."""
    search: Literal["greedy", "annealing"] = "greedy"
    """How the decomposable model of the joint distribution is found: by steepest ascent, or by annealing."""
    p: Literal["held", "free"] = "held"
    """Whether the share of matches stays what Fellegi-Sunter made of it, or is estimated again and can run away."""
    separate: bool = False
    """Whether the values of non-matches have a model of their own for each file, or the margins of the joint model."""
    rounds: int = Field(default=0, ge=0, le=10)
    """Rounds of estimating the joint distribution again from the new match probabilities. More than none can over-fit;
    the report says so."""
    precision: float = Field(default=1.0, gt=0, le=1e6, allow_inf_nan=False)
    """Total prior precision of the joint distribution: pseudo-observations spread evenly over all cells."""


def latent_mistakes(
    latent: LatentSpec, variables: Iterable[VariableSpec], fields: Mapping[str, object], unsure: bool, mode: object
) -> Iterator[Mistake]:
    """Every mistake that lies between the latent section and the rest.

    Parameters
    ----------
    latent
        The section.
    variables
        The category variables.
    fields
        The compared fields by name.
    unsure
        Whether there are fields or variables besides, whose mistakes are told elsewhere.
    mode
        The specification's mode, where it is known.
    """
    if mode == "block_keyed":
        yield Mistake(
            ("latent",),
            "the extended latent step is not possible in mode block_keyed: it needs candidate pairs' codes beside their"
            " comparison, the very join that the mode cuts",
            remedy="drop it, or link in mode open",
        )
    for position, key in enumerate(latent.keys):
        if key not in fields and not unsure:
            what = "no compared field has this name"
            yield Mistake(("latent", "keys", position), what, shown(key), nearest(key, fields))
        if getattr(fields.get(key), "value_frequencies", False):
            what = "its value would count twice, here and by its value_frequencies"
            yield Mistake(("latent", "keys", position), what, shown(key), "drop one of the two")
        if getattr(fields.get(key), "flip", 0.0):
            what = "values that agree exactly cannot be seen to where bits are flipped"
            yield Mistake(("latent", "keys", position), what, shown(key), "drop it here, or set its flip to 0")
        if key in latent.keys[:position]:
            yield Mistake(("latent", "keys", position), "the key is named already", shown(key), "drop one of them")
    for key, field in fields.items():
        if getattr(field, "value_frequencies", False) and key not in latent.keys:
            what = "value_frequencies and the extended latent step do not go together"
            yield Mistake(
                ("latent",), what, f"field {key}", f"name {key} among `latent.keys` instead, which does the same"
            )
    held = {variable.holder for variable in variables}
    if not latent.keys and not unsure and not {"alice", "bob"} <= held:
        one = held & {"alice", "bob"}
        yield Mistake(
            ("latent",),
            "the values of one file alone say nothing of a pair" if one else "there are no values to judge a pair by",
            f"variables of {one.pop()} and no keys" if one else "no variables of one file and no keys",
            "add `variables` that Alice holds and others that Bob holds, or name compared fields as `keys`",
        )
