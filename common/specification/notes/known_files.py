"""What the files reveal that a custodian sends for the value model."""

from __future__ import annotations

from collections.abc import Iterator

from gemel.common.message_words import listed
from gemel.common.specification.validation.specification import Specification


def known_file_notes(spec: Specification) -> Iterator[str]:
    """Notes on training records and on a known joint distribution."""
    if spec.latent is None:
        return
    apart = spec.in_blocks
    seen = "Carole and the coordinator's process, which makes the step, see" if apart else "Carole sees"
    names = listed([variable.name for variable in spec.value_variables])
    if (training := spec.latent.training) is not None:
        yield (
            f"{training.by.title()} sends {training.records:,} training records (SHA-256 {training.sha256[:8]}...), the"
            f" keyed codes of {names} of OTHER PEOPLE, one row each, without signature or identifier. {seen} which"
            " values of both custodians occur together in one person, which no row of either file shows her; whoever"
            " decodes the codes and knows a person in that file recognises a rare row. The rows are erased with the"
            " uploads. The joint distribution is theirs too, wherever it is released."
        )
    if (joint := spec.latent.joint) is not None:
        yield (
            f"{joint.by.title()} sends a known joint distribution of {names} (SHA-256 {joint.sha256[:8]}...):"
            f" {joint.cells:,} cells in keyed codes, with their counts or shares. The links depend on it, and it is not"
            " estimated. A cell of a count of one is a person."
        )
