"""What a compute party opens its shares of an upload by: from the custodian, through Carole, who can read her own only.

Before it is sealed to its reader::

    "gemel shares 1\\n" | signature (64) | digests of the three secrets (96) | the reader's two secrets (64)

It is signed for one project, side, encoding, epoch, upload and layout, and for its reader in its place among the three:
what Carole passes on can neither be replaced nor stand for another upload, and a layout that she shows to one party is
the one that all have. The reader's key is not named: an upload outlives a renewal of it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.framing import frame
from gemel.common.keys.identity import Identity, PublicIdentity, SigningPurpose
from gemel.common.keys.sealing import SealContext
from gemel.common.keys.sealing_key import SealingKey, SealingPublicKey
from gemel.common.keys.suite import Suite
from gemel.common.parties import ComputeParty, Side
from gemel.common.signatures.custodian_shares import COMMITMENTS_BYTES, SECRET_BYTES, PartySecrets
from gemel.common.signatures.layout import Layout, SetLayout
from gemel.common.signatures.party_sets import SharedUpload, ShareHeader
from gemel.common.wire.signed_form import Forged, SignedForm

_SHARES = SignedForm(b"gemel shares 1\n", SigningPurpose.SHARES)


@dataclass(frozen=True)
class HeaderAbout:
    """The context that a header is bound to; it is not valid in any other."""

    project: str
    side: Side
    encoding_digest: bytes
    epoch: int
    upload: str
    layout: Layout
    """Of the manifest."""
    reader: str
    """The name of the member that the header is for."""
    party: ComputeParty
    """Which compute party it is."""
    suite: Suite = Suite.DEFAULT

    @property
    def context(self) -> SealContext:
        return SealContext(self.project, self.upload, self.reader, self.suite)

    def parts(self, content: bytes) -> tuple[bytes, ...]:
        texts = (self.project, str(self.side), self.upload, self.reader)
        numbers = (self.epoch.to_bytes(8, "big"), bytes([self.party]))
        digests = (self.encoding_digest, layout_digest(self.layout), hashlib.sha256(content).digest())
        return *(text.encode() for text in texts), *numbers, *digests


def layout_digest(layout: Layout) -> bytes:
    """SHA-256 of the sizes of a contribution, the same for equal layouts only."""
    return hashlib.sha256(frame(_numbers(layout.records), *(_framed(part) for part in layout.sets))).digest()


def _framed(part: SetLayout) -> bytes:
    fields = [
        frame(field.name.encode(), _numbers(field.bits, field.distinct), field.content.encode())
        for field in part.fields
    ]
    variables = [frame(each.name.encode(), _numbers(each.categories)) for each in part.variables]
    names = [frame(*(name.encode() for name in names)) for names in (part.blocks, part.tags or ())]
    numbers = _numbers(part.rows, *part.interval, int(part.is_shared))
    return frame(part.rule.encode(), numbers, frame(*fields), frame(*variables), *names)


def _numbers(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(8, "big") for number in numbers)


def seal_header(identity: Identity, about: HeaderAbout, key: SealingPublicKey, secrets: PartySecrets) -> bytes:
    """A header, signed by the custodian and sealed to its reader: the reader's two secrets, with the digests of all
    three."""
    content = secrets.commitments + secrets.first + secrets.second
    return _SHARES.seal(identity, key, about.context, about.parts, content)


def open_header(key: SealingKey, custodian: PublicIdentity, about: HeaderAbout, sealed: bytes) -> ShareHeader:
    """Open a header with the reader's key and verify the custodian's signature, by the membership list.

    Raises SEALED if it does not open; SIGNATURE if this custodian did not sign it for this upload, layout and reader;
    UPLOAD_CORRUPT if the signed content is malformed, or its secrets are not those whose digests it has.
    """
    where = f"project {about.project}, upload {about.upload} of {about.side.title()}"
    forged = Forged(
        f"the seeds of shares that Carole passed on were not signed by {about.side.title()} for this upload, its sizes,"
        " and this reader",
        where,
        "they were replaced on their way: report it to Carole's operator and the custodians",
    )
    signed = _SHARES.open(
        key,
        custodian,
        about.context,
        about.parts,
        [sealed],
        malformed=lambda got: _malformed(where, got),
        forged=forged,
        content_of=lambda rest: rest if len(rest) == COMMITMENTS_BYTES + 2 * SECRET_BYTES else None,
    )
    first, second = signed[COMMITMENTS_BYTES:-SECRET_BYTES], signed[-SECRET_BYTES:]
    secrets = PartySecrets(about.party, first, second, signed[:COMMITMENTS_BYTES])
    if not secrets.agree:
        raise _malformed(where, "secrets that are not those whose digests came with them")
    return ShareHeader(SharedUpload(about.project, about.side, about.upload), secrets)


def _malformed(where: str, got: str) -> GemelError:
    what = "a custodian's seeds of shares do not have the expected form"
    remedy = "run the same version of Gemel everywhere; if you do, have the custodian contribute again"
    return GemelError(ErrorCode.UPLOAD_CORRUPT, what, where=where, got=got, remedy=remedy)
