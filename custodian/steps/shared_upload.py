"""Mode shared at a custodian: its sets cut into shares on their way into the upload, and the seeds for who computes.

The secrets are drawn for each upload and held in memory alone, until they are sealed to the three parties; the
custodian itself cannot open its upload afterwards. The plain words of a set are in memory while it is shared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.parties import ComputeParty
from gemel.common.pki.members import Member, compute_members
from gemel.common.pki.sealing_renewal import require_sealing_keys
from gemel.common.signatures.custodian_shares import ShareSecrets
from gemel.common.signatures.layout import Layout
from gemel.common.signatures.shared_words import SharedUpload
from gemel.common.wire.share_headers import HeaderAbout, seal_header
from gemel.custodian.encoding.shared_sets import SentSet, Sharing
from gemel.custodian.encoding.streamed import Portion
from gemel.custodian.steps.step_context import StepContext, Task


def computing(context: StepContext, task: Task) -> tuple[Member, Member, Member] | None:
    """The members who compute, by compute party, in mode shared; None in the other modes.

    Raises
    ------
    GemelError
        As `compute_members` and `require_sealing_keys`.
    """
    if task.spec.mode != "shared":
        return None
    members = compute_members(context.trust.members, task.spec)
    require_sealing_keys(task.spec, members, f"project {task.project}")
    return members


@dataclass(frozen=True)
class SentPortion:
    """The next sets of an upload as they are sent, in the order of its payload."""

    sets: tuple[SentSet, ...]
    order: NDArray[np.int64] = field(repr=False)
    identifiers: Iterator[pl.Series] = field(repr=False)


class UploadShares:
    """Shares the portions of one upload, and seals what opens them."""

    def __init__(self, context: StepContext, task: Task, members: tuple[Member, Member, Member], upload: str) -> None:
        self._identity, self._side = context.keyring.identity, context.party.side
        self._task, self._members, self._upload = task, members, upload
        self._secrets = ShareSecrets.fresh()
        self._sharing = Sharing(task.spec, SharedUpload(task.project, self._side, upload), self._secrets)

    def shared(self, portion: Portion) -> SentPortion:
        """The next portion, with its rows in the order that was drawn."""
        sent: list[SentSet] = []
        drawn: list[NDArray[np.int64]] = []
        at = 0
        for part in portion.sets:
            made, order = self._sharing.shared(part)
            sent.append(made)
            drawn.append(at + order)
            at += part.n_rows
        if not any(made.layout.is_shared and made.layout.blocks for made in sent):
            return SentPortion(tuple(sent), portion.order, portion.identifiers)
        rows = np.concatenate(drawn)
        own = pl.concat(portion.identifiers).gather(pl.Series(rows))
        return SentPortion(tuple(sent), portion.order[rows], iter([own]))

    def sealed_seeds(self, layout: Layout) -> tuple[bytes, ...]:
        """By compute party, what its shares of the upload are opened by.

        Raises
        ------
        GemelError
            As `seal_header`.
        """
        sealed = []
        for party, member in zip(ComputeParty, self._members, strict=True):
            about = HeaderAbout(
                project=self._task.project,
                side=self._side,
                encoding_digest=self._task.encoding_digest,
                epoch=self._task.epoch,
                upload=self._upload,
                layout=layout,
                reader=member.name,
                party=party,
                suite=self._task.spec.suite,
            )
            sealed.append(seal_header(self._identity, about, member.sealing, self._secrets.of(party)))
        return tuple(sealed)
