"""The sentences that the documents of a run have beside their warnings: what is supposed, why there are no errors.

They stand in ``phrases.yaml``. Carole writes them in `gemel.carole.engine` and `gemel.carole.fellegi_sunter`; a test
compares the two.
"""

from __future__ import annotations

from importlib.resources import files
from itertools import chain

import yaml

from gemel.common.language import marked
from gemel.common.specification.model.schemes import SCHEMES
from gemel.risk.report.page import WARNINGS, Phrases


def phrases_of(package: str) -> list[str]:
    """The forms that a package has in its ``phrases.yaml``."""
    listed: dict[str, list[str]] = yaml.safe_load(files(package).joinpath("phrases.yaml").read_text("utf-8"))
    return list(chain.from_iterable(listed.values()))


STAGES = (
    *(marked("provision"), marked("start"), marked("specify"), marked("agree"), marked("contribute")),
    *(marked("link"), marked("assess"), marked("release"), marked("evaluate"), marked("read")),
    *(marked("tables"), marked("levels"), marked("count"), marked("model"), marked("keep")),
    *(marked("decide"), marked("resolve"), marked("persons"), marked("join"), marked("draw")),
    *(marked("latent"), marked("seal"), marked("compare"), marked("chance"), marked("permute")),
    marked("open"),
)
"""Of a rehearsal, and of a run."""

PHRASES = Phrases((*WARNINGS, *phrases_of(__package__), *(scheme.title for scheme in SCHEMES.values())))
"""Of the documents of a run."""
