"""The training records and the known joint distribution that custodians have contributed, in every mode."""

from __future__ import annotations

from gemel.carole.engine.latent.refit import NOTHING_KNOWN, KnownRecords
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.store import Store
from gemel.common.parties import Side


def known_records(store: Store, project: str, plan: LinkagePlan) -> KnownRecords:
    """Those of both contributions, with a column for each variable of the plan; nothing without a latent step."""
    if plan.latent is None:
        return NOTHING_KNOWN
    return KnownRecords.of([part for side in Side for part in store.uploads.known(project, side)], plan.latent)
