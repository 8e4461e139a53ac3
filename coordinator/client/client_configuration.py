"""The coordinator's configuration, ``coordinator.yaml``, and the steward's of the same form: where Carole is, and where
their keys are."""

from __future__ import annotations

from typing import Literal

from tryst.common.configuration import Configuration, ConfiguredPath

TEMPLATE = """\
# The linkage coordinator: drives projects at Carole, sees no signature and no record.
version: 1
carole:
  address: {address}
keys: {keys}  # folder of its certificate and keys, as `tryst init` or `tryst party` makes it; for its eyes only
"""


STEWARD_TEMPLATE = """\
# The data steward: reads reports on disclosure risk and decides on results that the policy holds; sees no record.
version: 1
carole:
  address: {address}
keys: {keys}  # folder of its certificate and keys, as `tryst init` or `tryst party` makes it; for its eyes only
"""


class CaroleAddress(Configuration):
    """Where Carole listens."""

    address: str
    """host:port, as this coordinator reaches her."""


class CoordinatorConfiguration(Configuration):
    """All of ``coordinator.yaml``."""

    version: Literal[1]
    carole: CaroleAddress
    keys: ConfiguredPath


def template(address: str, *, keys: str = ".") -> str:
    """A commented ``coordinator.yaml`` for the Carole at `address`; `keys` is relative to the file or absolute."""
    return TEMPLATE.format(address=f'"{address}"', keys=keys)


def steward_template(address: str, *, keys: str = ".") -> str:
    """A commented ``steward.yaml``, of the same form."""
    return STEWARD_TEMPLATE.format(address=f'"{address}"', keys=keys)
