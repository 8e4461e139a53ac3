"""What is known of the records beside their keys, and the parts of an assessment that need it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tryst.risk.identification.key_file import KeyFile
from tryst.risk.identification.privacy_models import privacy_models_document


@dataclass(frozen=True, eq=False)
class BesideKeys:
    """Columns of the records that are no keys.

    Parameters
    ----------
    sensitive
        Sensitive variables: for each the values, one for each record.
    ordinal
        Names of those whose levels have an order.
    """

    sensitive: Mapping[str, Any] = field(default_factory=dict)
    ordinal: frozenset[str] = frozenset()

    def privacy_models(self, file: KeyFile) -> dict[str, Any]:
        """k-anonymity of the keys, and what the classes disclose of the sensitive variables."""
        return privacy_models_document(file, self.sensitive, self.ordinal)
