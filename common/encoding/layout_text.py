"""The sizes of a contribution as one text, in which Carole keeps them and passes them on to the compute parties."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import NoReturn

from tryst.common.encoding.intervals import WHOLE, Interval
from tryst.common.encoding.layout import FieldLayout, Layout, SetLayout, VariableLayout
from tryst.common.encoding.signature_sets import corrupt


def layout_to_text(layout: Layout, sealed_seeds: Sequence[bytes] = ()) -> str:
    """A layout as stored, with what opens its shares in mode shared: equal texts are equal layouts."""
    sets = [
        [
            part.rule,
            part.rows,
            [[f.name, f.bits, f.distinct, *([f.content] * (f.content != "signatures"))] for f in part.fields],
            list(part.blocks),
            *_rest(part),
        ]
        for part in layout.sets
    ]
    seeds = {"seeds": [base64.b64encode(sealed).decode() for sealed in sealed_seeds]} if sealed_seeds else {}
    content = {"records": layout.records, "sets": sets, **seeds} if layout.records else sets
    return json.dumps(content, separators=(",", ":"))


def _rest(part: SetLayout) -> list[object]:
    """What few sets have, each behind the ones before it: variables, an interval, shared tags."""
    rest: list[object] = [[[v.name, v.categories] for v in part.variables], list(part.interval), list(part.tags or ())]
    if part.is_shared:
        return rest
    return rest[:2] if part.interval != WHOLE else rest[:1] if part.variables else []


def layout_from_text(text: str) -> Layout:
    """The layout that `layout_to_text` stored."""
    content = json.loads(text)
    sets, records = (content["sets"], content["records"]) if isinstance(content, dict) else (content, 0)
    return Layout(
        tuple(
            SetLayout(
                rule,
                rows,
                tuple(FieldLayout(*field) for field in fields),
                tuple(blocks),
                tuple(VariableLayout(*variable) for listed in rest[:1] for variable in listed),
                Interval(*rest[1]) if rest[1:] else WHOLE,
                tuple(rest[2]) if rest[2:] else None,
            )
            for rule, rows, fields, blocks, *rest in sets
        ),
        records,
    )


def sealed_seeds_from_text(text: str) -> tuple[bytes, ...]:
    """What opens the shares, by compute party, of a layout that `layout_to_text` stored; none in other modes."""
    content = json.loads(text)
    return tuple(base64.b64decode(sealed) for sealed in content.get("seeds", ())) if isinstance(content, dict) else ()


def received_layout(text: str) -> Layout:
    """The layout in a text from another party, and nothing else than a layout.

    Raises
    ------
    TrystError
        UPLOAD_CORRUPT for a text of another form, UPLOAD_LIMIT for sizes out of bounds.
    """
    try:
        json.loads(text, parse_float=_no_number, parse_constant=_no_number)
        layout = layout_from_text(text)
        layout.validate()
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError):
        got = f"{len(text)} characters of another form"
        raise corrupt("the sizes of a contribution expected", "layout", got) from None
    return layout


def _no_number(text: str) -> NoReturn:
    raise ValueError(text)
