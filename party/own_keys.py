"""New keys of a party: an identity or a wrapping key on its token or in its vault, and a renewed sealing key.

After a renewal the party goes on with its identity, its certificate and its projects. Its file holds the new sealing
key and, behind it, the one that the membership list still has; the coordinator makes the list again from its new
enrolment request. What was sealed to the key before still opens, until the next renewal.
So a party comes to a key of the approved suite, too, without which it can take part in no project of that suite.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pydantic import ConfigDict

from gemel.common.configuration import Configuration
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity
from gemel.common.keys.identity_configuration import IdentityConfiguration, open_identity
from gemel.common.keys.key_wrapper import IDENTITY, WRAPPING, KeyUse
from gemel.common.keys.sealing_key import SealingKey, new_key
from gemel.common.keys.suite import Suite
from gemel.common.keys.wrapping_configuration import WrappingConfiguration
from gemel.common.pki.enrolment_requests import EnrolmentRequest, load_enrolment_request
from gemel.common.pki.folders import PartyFolder, write_public
from gemel.common.pki.members import Members
from gemel.common.pki.reader import check_own


class IdentitySection(Configuration):
    """A party's configuration, as far as it is of its identity."""

    model_config = ConfigDict(extra="ignore")

    identity: IdentityConfiguration | None = None


class WrappingSection(Configuration):
    """A service's configuration, as far as it is of wrapping keys."""

    model_config = ConfigDict(extra="ignore")

    wrapping: WrappingConfiguration | None = None


def create_identity(configured: IdentityConfiguration | None) -> Identity:
    """Make the configured identity on its token or in its vault. Raises CONFIGURATION if neither is configured; EXISTS
    if the token has the key."""
    if configured is None:
        raise _not_configured(IDENTITY)
    signer = configured.chosen.signer
    signer.create()
    return Identity(signer.checked())


def create_wrapping_key(configured: WrappingConfiguration | None) -> str:
    """Make the configured key on its token or in its vault; its identifier. Raises CONFIGURATION if neither is
    configured; EXISTS if the token has the key."""
    if configured is None:
        raise _not_configured(WRAPPING)
    wrapper = configured.chosen.wrapper
    wrapper.create()
    return wrapper.checked().current_id.hex()


def _not_configured(use: KeyUse) -> GemelError:
    remedy = f"add `{use.section}` to the configuration, or use the file that `gemel init` has made"
    return GemelError(ErrorCode.CONFIGURATION, "no token and no vault is configured", where=use.section, remedy=remedy)


def renew_sealing_key(folder: Path, identity: Identity | None = None, suite: Suite | None = None) -> EnrolmentRequest:
    """Make a party's new sealing key, by default of the newest one's suite, and its enrolment request with it.

    As long as the list in the folder has the key before the newest, the listed one is kept: the request is only written
    again, or the newest replaced if another suite is requested now. An identity is given where it is not in the folder.
    Raises CONFIGURATION if a file is missing or unusable, or the list has none of the folder's keys.
    """
    party = PartyFolder(folder)
    request, key = load_enrolment_request(party.enrolment_request), SealingKey.load(party.sealing)
    signer = identity or open_identity(None, party.identity)
    if party.members.exists():
        own = Members.load(party.members).named(request.name)
        check_own(own, {"identity": (signer.public,), "sealing": key.publics}, str(folder))
        is_listed = own.sealing == key.public
    else:
        is_listed = key.before is None
    requested = key.public.suite if suite is None else suite
    if is_listed or key.public.suite is not requested:
        key = key.renewed(requested) if is_listed else replace(key, newest=new_key(requested))
        # Before the request, so that no list can have a key that no file has.
        key.save(party.sealing, replace=True)
    renewed = replace(request, identity=signer.public, sealing=key.public)
    write_public(party.enrolment_request, renewed.signed(signer).encode())
    return renewed
