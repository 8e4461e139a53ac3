"""Checks of the section `resolution` against the mode."""

from __future__ import annotations

from collections.abc import Iterator

from gemel.common.specification.model.defaults import IN_BLOCKS, Mode
from gemel.common.specification.model.padding import Padding
from gemel.common.specification.model.quality import QualitySpec
from gemel.common.specification.model.resolution import ResolutionSpec
from gemel.common.validation_issue import ValidationIssue


def resolution_issues(
    resolution: ResolutionSpec, mode: Mode, padding: Padding | None, quality: QualitySpec | None
) -> Iterator[ValidationIssue]:
    """Every issue of the section, given the specification's mode, padding and decoys."""
    if resolution == ResolutionSpec():
        return
    if mode not in IN_BLOCKS:
        yield ValidationIssue(
            ("resolution",),
            "there are rows to join in modes block_keyed and shared only",
            f"mode {mode}",
            "drop the section",
        )
    if mode == "shared" and resolution.joined:
        what = "in mode shared the linkage unit knows no row of a pair, and has none to join"
        remedy = "drop the line: the coordinator's process resolves"
        yield ValidationIssue(("resolution", "by"), what, "carole", remedy)
        return
    if resolution.joined and resolution.max_records is None:
        yield ValidationIssue(
            ("resolution", "max_records"),
            "a join by the linkage unit needs a cap that all approve",
            "nothing",
            "write `resolution: {by: carole, max_records: 20000}` with your own number",
        )
    if not resolution.joined and resolution.max_records is not None:
        yield ValidationIssue(
            ("resolution", "max_records"),
            "the coordinator's process, which holds no signature, has no cap",
            str(resolution.max_records),
            "drop it, or write `by: carole`",
        )
    if padding is not None and resolution.joined:
        what = "the party that joins rows learns which are dummies, and the linkage unit must not know"
        remedy = "drop it, or let the coordinator's process resolve"
        yield ValidationIssue(("padding",), what, "resolution by carole", remedy)
    if quality is not None and quality.decoys is not None and resolution.joined:
        what = "the party that joins rows learns which are decoys, and their records under every rule"
        remedy = "drop them, or let the coordinator's process resolve"
        yield ValidationIssue(("quality", "decoys"), what, "resolution by carole", remedy)
