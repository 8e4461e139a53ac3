"""An installation whose library lacks an algorithm says so in words."""

from __future__ import annotations

import pytest
from cryptography.exceptions import UnsupportedAlgorithm

from gemel.common.errors import ErrorCode
from gemel.common.keys import installation
from gemel.common.keys.installation import require_suite
from gemel.common.keys.suite import Suite
from tests.carole.refusals import refusal


@pytest.mark.parametrize("suite", Suite)
def test_this_installation_has_both_suites(suite: Suite) -> None:
    require_suite(suite, "here")


def test_what_the_library_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(suite: Suite) -> None:
        raise UnsupportedAlgorithm("not in this build")

    monkeypatch.setattr(installation, "new_key", lacking)
    with refusal(ErrorCode.CONFIGURATION) as caught:
        require_suite(Suite.APPROVED, "project people")
    assert "has no ML-KEM-1024 and P-384" in caught.value.what
    assert caught.value.where == "project people"
    assert "decline the specification" in caught.value.remedy
