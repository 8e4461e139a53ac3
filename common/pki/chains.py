"""Chains from a certificate of an organisation's own PKI to an authority that is pinned for it.

The rules are RFC 5280's, as the library `cryptography` has them: signatures, dates, basic constraints, key usages, path
lengths and name constraints. Constraints on URIs it does not know, and refuses.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.x509 import verification

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.pki.certificates import public_key_bytes
from gemel.common.pki.checks import check_dates, is_authority

MAX_INTERMEDIATES = 4
MAX_RSA_BITS, RSA_EXPONENT = 4096, 65537
"""Of every key in a chain: with others one verification takes as long as its maker likes."""


def check_chain(
    chain: Sequence[x509.Certificate], authorities: Sequence[x509.Certificate], now: datetime, where: str
) -> None:
    """Refuse a leaf from which no chain leads to one of `authorities`.

    Parameters
    ----------
    chain
        The leaf, and the intermediate authorities that its holder has shown with it, in any order.
    authorities
        Those that are pinned, and no other: roots, or intermediate ones.

    Raises
    ------
    GemelError
        CERTIFICATE.
    """
    leaf, *intermediates = chain
    if is_authority(leaf):
        raise GemelError(ErrorCode.CERTIFICATE, "expected a party's certificate", where=where, got="an authority's")
    check_dates(leaf, now, where)
    if len(intermediates) > MAX_INTERMEDIATES:
        raise GemelError(
            ErrorCode.CERTIFICATE,
            f"a chain has at most {MAX_INTERMEDIATES} intermediate authorities",
            where=where,
            got=str(len(intermediates)),
        )
    if not all(_is_bounded(one) for one in chain) or len({public_key_bytes(one) for one in chain}) < len(chain):
        # Several certificates of one key would make the paths to be tried many.
        raise GemelError(
            ErrorCode.CERTIFICATE,
            f"each certificate of a chain has a key of its own; an RSA key has at most {MAX_RSA_BITS} bits and the "
            f"exponent {RSA_EXPONENT}",
            where=where,
            got="another chain",
            remedy="let the certificate's file hold it and its own intermediate authorities, once each",
        )
    policy = verification.PolicyBuilder().store(verification.Store(list(authorities))).time(now)
    try:
        policy.max_chain_depth(MAX_INTERMEDIATES).build_client_verifier().verify(leaf, intermediates)
    except verification.VerificationError as error:
        raise GemelError(
            ErrorCode.CERTIFICATE,
            "no chain leads from the certificate to an authority pinned for this member",
            where=where,
            got=str(error).partition(" (")[0],
            remedy="compare the authorities with the membership list, and have the certificate's file hold the "
            "intermediate ones behind the certificate",
        ) from None


def _is_bounded(certificate: x509.Certificate) -> bool:
    key = certificate.public_key()
    return not isinstance(key, RSAPublicKey) or (
        key.key_size <= MAX_RSA_BITS and key.public_numbers().e == RSA_EXPONENT
    )
