"""What mode shared lets each party see, alone and with another, in words; docs/shared-mode.md gives the reasons."""

from __future__ import annotations

from collections.abc import Iterator

from gemel.common.language.message_words import listed
from gemel.common.specification.notes.modes import capped
from gemel.common.specification.validation.specification import Specification


def shared_notes(spec: Specification) -> Iterator[str]:
    """Who sees what where three parties compute on shares."""
    rules = listed([rule.name for rule in spec.keyed_rules])
    coordinator, steward = spec.compute.coordinator, spec.compute.steward
    three = f"Carole, {coordinator} (the coordinator) and {steward} (a steward)"
    sizes = (
        "how many rows each block has, padded to a power of two, and which blocks of the two files have one key"
        if spec.padding is not None
        else "how many rows each block has, and which blocks of the two files have one key"
    )
    yield (
        f"Mode shared: each record is sent once per blocking rule ({rules}), cut into three random shares. Each of"
        f" {three} holds two of them, from which it can read nothing by itself: no signature, no similarity, and not"
        " which row agrees with which. Together they compute the comparison levels."
    )
    yield (
        f"ANY TWO OF {three} TOGETHER CAN READ ALL OF IT: every record's keyed signatures inside its blocks, as Carole"
        " has them in mode block_keyed, and the tags. They must be three organisations that do not collude, on machines"
        " that no one administers in common. Two of them with a custodian can read the other file's records, as Carole"
        " with a custodian can in every mode."
    )
    yield (
        f"Each of the three sees {sizes}. A large block of a common key shows that the key is common:"
        " `gemel alice leakage` measures it."
    )
    yield (
        "Carole sees how many candidate pairs have each pattern of comparison levels, which field is how often missing,"
        " and the same of random pairs of sampled rows, each in an order that no one knows: not which pair has which"
        " pattern, and of no pair which rows it is of."
    )
    yield (
        "The coordinator also resolves: it learns which rows are one record, by random handles of each run, and the"
        f" comparison levels of the pairs near a link. It could join rows {capped(spec.resolution)}: each custodian"
        " counts over all runs, and refuses above."
    )
    yield (
        f"Who of the three departs from the protocol ends the run, which names the stage and the two parties between"
        f" which it failed. If {coordinator} or {steward} does not run `gemel compute`, the run waits."
    )
