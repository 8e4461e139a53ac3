"""A contribution of mode shared within one process: from what `encode_records` made to what the three parties read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field

import numpy as np

from gemel.common.arrays import I64
from gemel.common.parties import ComputeParty, Side
from gemel.common.signatures.custodian_shares import ShareSecrets
from gemel.common.signatures.layout import Layout
from gemel.common.signatures.party_sets import PartyContribution, SharedUpload, ShareHeader
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.specification import Specification
from gemel.custodian.encoding.records import Encoded
from gemel.custodian.encoding.shared_sets import SentSet, Sharing, sent_bytes


@dataclass(frozen=True)
class SharedEncoded:
    """A contribution that is shared in memory.

    `contributions`: as each compute party reads it; `orders`: as `Encoded.orders`, in the order that was drawn;
    `unshared`: the sets that are Carole's as they are: codes, and what is known.
    """

    contributions: tuple[PartyContribution, PartyContribution, PartyContribution]
    orders: Mapping[str, I64] = dataclass_field(repr=False)
    unshared: tuple[SignatureSet, ...] = dataclass_field(repr=False)


def shared_in_memory(encoded: Encoded, spec: Specification, side: Side) -> SharedEncoded:
    """Share a contribution that was encoded in memory. Memory: the words of all rows, besides the sets."""
    about, fresh = SharedUpload(spec.project, side, "in one process"), ShareSecrets.fresh()
    sharing = Sharing(spec, about, fresh)
    sent: list[SentSet] = []
    orders: dict[str, list[I64]] = {}
    for part in encoded.sets:
        before = sum(len(order) for order in orders.get(part.rule, ()))
        made, order = sharing.shared(part)
        sent.append(made)
        if part.rule in encoded.orders:
            orders.setdefault(part.rule, []).append(encoded.orders[part.rule][before + order])
    payloads = [b"".join(sent_bytes(part)) for part in sent]
    layout = Layout(tuple(part.layout for part in sent), encoded.records)
    carole, coordinator, steward = (
        PartyContribution(
            party, ShareHeader(about, fresh.of(party)), layout, lambda number, size: payloads[number][:size]
        )
        for party in ComputeParty
    )
    whole = {rule: np.concatenate(each) for rule, each in orders.items()}
    unshared = tuple(part for part in sent if isinstance(part, SignatureSet))
    return SharedEncoded((carole, coordinator, steward), whole, unshared)
