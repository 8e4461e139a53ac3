"""What binds an epoch: the coordinator's act, an approval, and the messages of a seed agreement."""

from __future__ import annotations

import pytest

from gemel.common.errors import ErrorCode
from gemel.common.keys.epochs import approval_parts, sign_new_epoch, verify_new_epoch
from gemel.common.keys.identity import Identity, IdentityKey, SigningPurpose
from gemel.common.parties import Side
from gemel.custodian.agreement.agreement import Agreement
from gemel.custodian.agreement.agreement_messages import Terms
from tests.carole.refusals import refusal

COORDINATOR, ALICE, BOB = Identity(IdentityKey.create()), Identity(IdentityKey.create()), Identity(IdentityKey.create())
ENCODING = bytes(range(32))
OPENED = {"project": "people", "encoding_digest": ENCODING, "epoch": 2, "reason": "Bob's library was too old"}


@pytest.mark.parametrize(
    "other", [{"project": "person"}, {"encoding_digest": bytes(32)}, {"epoch": 3}, {"reason": "because of the weather"}]
)
def test_an_epoch_is_opened_for_one_project_encoding_number_and_reason(other: dict[str, object]) -> None:
    signature = sign_new_epoch(COORDINATOR, **OPENED)  # type: ignore[arg-type]
    verify_new_epoch(COORDINATOR.public, signature, **OPENED)  # type: ignore[arg-type]
    for identity, opened in ((COORDINATOR, {**OPENED, **other}), (BOB, OPENED)):
        with refusal(ErrorCode.SIGNATURE):
            verify_new_epoch(identity.public, signature, **opened)  # type: ignore[arg-type]


def test_a_consent_to_one_epoch_is_none_to_another() -> None:
    parts = [approval_parts("people", ENCODING, epoch) for epoch in (1, 2, 3)]
    assert parts[0] == (b"people", ENCODING, b"\0\0\0\1")
    signed = [ALICE.sign(SigningPurpose.APPROVAL, *given) for given in parts]
    verified = [[ALICE.public.is_signed(s, SigningPurpose.APPROVAL, *given) for given in parts] for s in signed]
    assert verified == [[True, False, False], [False, True, False], [False, False, True]]


def test_nothing_of_the_first_epochs_agreement_is_taken_in_the_second() -> None:
    """Carole replays, in the second epoch, every message that she has of the first."""
    made: dict[int, dict[Side, Agreement]] = {}
    canary = bytes(32)
    confirmations = {}
    for epoch in (1, 2):
        terms = Terms("people", ENCODING, epoch)
        made[epoch] = {
            Side.ALICE: Agreement(terms, Side.ALICE, ALICE, BOB.public),
            Side.BOB: Agreement(terms, Side.BOB, BOB, ALICE.public),
        }
        alice, bob = made[epoch].values()
        if epoch == 2:
            for now, side in ((alice, Side.BOB), (bob, Side.ALICE)):
                with refusal(ErrorCode.EPOCH_MISMATCH):
                    now.accept_offer(made[1][side].offer)
        bob.accept_offer(alice.offer)
        alice.accept_offer(bob.offer)
        confirmations[epoch] = alice.confirm(canary), bob.confirm(canary)
        if epoch == 2:
            with refusal(ErrorCode.EPOCH_MISMATCH):
                alice.accept_confirmation(confirmations[1][1])
        alice.accept_confirmation(confirmations[epoch][1])
        bob.accept_confirmation(confirmations[epoch][0])
        assert alice.seed.reveal() == bob.seed.reveal()
    first, second = (made[epoch][Side.ALICE] for epoch in (1, 2))
    assert first.offer != second.offer
    assert first.seed.reveal() != second.seed.reveal()
