"""Reasons as the audit log keeps them."""

from hypothesis import given
from hypothesis import strategies as st

from gemel.common.audit.reason import MAX_REASON, kept_reason, normalized_reason


@given(st.text() | st.integers(0, 2 * MAX_REASON).map(lambda n: "a reason, " * n))
def test_what_a_former_release_kept_is_accepted_as_it_is_sent(reason: str) -> None:
    sent = kept_reason(reason)
    assert normalized_reason(sent) == sent


def test_a_reason_that_is_one_stays_what_it_was() -> None:
    assert kept_reason("the ethics committee\nhas not decided") == "the ethics committee has not decided"
