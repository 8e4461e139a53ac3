"""How the quality of the links is estimated beside what the model claims of them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from gemel.common.specification.model.section import Name, Section

MIN_REPLICATES = 39
"""Replicates from which there is a 95 % interval: between the smallest and the largest of 39."""


MIN_DECOYS, MAX_DECOYS = 100, 100_000
"""A custodian could make all its decoys of one person, and would read from the number that are linked whether the other
file has that person: the fewer there are, the less else the number shows. More than the maximum show no more."""


class QualitySpec(Section):
    """Estimates of the links' quality, with 95 % intervals, beside what the model claims of them. They need no truth
    and no review; each states what it supposes. Default: none."""

    check_field: Name | None = None
    """A field of `fields` that is sent like the others but held out of blocking, weights and estimation. Its agreement
    among the links shows how many are false. Choose one in which errors are independent of the other fields' and which
    kin do not share, such as sex; not a part of the address. The links then lack its evidence. Default: none."""
    decoys: Annotated[int, Field(ge=MIN_DECOYS, le=MAX_DECOYS)] | None = None
    """Records of no person's that each custodian invents from its own and adds to its contribution. They are linked as
    people would be who are not in the other file, change no link and are never released; how many are linked shows how
    many links are false. 1,000 suffice for most files. Default: none."""
    bootstrap: Annotated[int, Field(ge=MIN_REPLICATES, le=10_000)] | None = None
    """Replicates of the run drawn from its fitted model, estimated and decided again: how far off the model's claims
    are when the model is right. 39 suffice; each costs as much as the run's own estimation. Default: none."""
