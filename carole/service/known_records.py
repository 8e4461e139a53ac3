"""The training records and the known joint distribution that custodians have contributed, in every mode."""

from __future__ import annotations

from tryst.carole.engine.latent.known_records import NOTHING_KNOWN, KnownRecords
from tryst.carole.engine.plan import LinkagePlan
from tryst.carole.store import Store
from tryst.common.parties import Side


def known_records(store: Store, project: str, plan: LinkagePlan) -> KnownRecords:
    """Those of both contributions, with a column for each variable of the plan; nothing without a latent step.

    Raises
    ------
    TrystError
        As `Uploads.known`.
    """
    if plan.latent is None:
        return NOTHING_KNOWN
    return KnownRecords.of([part for side in Side for part in store.uploads.known(project, side)], plan.latent)
