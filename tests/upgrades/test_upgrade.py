"""A project that is open while the parties are upgraded ends with the links of one that was left alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from alice import PARTY
from tests.carole.store.conftest import Postgres, postgres
from tests.deploy.documents import sections, typed_commands
from tests.deploy.sites import DEPLOY
from tests.upgrades.former_release import Release
from tests.upgrades.site import Site
from tryst.common.custodian.operator.control import Control
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.parties import Side
from tryst.coordinator.client.connection import connect

__all__ = ["postgres"]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

NEW = Release()
CONFIGURATION = "/etc/tryst/carole/carole.yaml"


def upgraded(site: Site) -> None:
    """Carole's store, by this release's commands as they stand in deploy/README.md."""
    commands = list(typed_commands(sections(DEPLOY / "README.md")["Upgrade"]))
    assert [words[:2] for words in commands] == [["carole", "upgrade"], ["carole", "check"]]
    for words in commands:
        done = NEW.tryst(*(site.configs["carole"] if word == CONFIGURATION else word for word in words))
        assert done.returncode == 0, done.stderr


def test_all_parties_at_once_on_postgresql(site: Callable[..., Site], postgres: Postgres) -> None:
    """Alice is there before Carole: her service waits, and goes on by itself."""
    made = site(("open",), postgres.database())
    made.half_uploaded("open")
    made.stop("alice")
    made.start(NEW, "alice")
    with Control.open(made.configs["alice"], PARTY) as operator:
        made.eventually(lambda: "is of an older release than this program" in operator.status().refusal)
    made.stop("carole")
    upgraded(made)
    made.start(NEW, "carole", "bob")
    assert made.link("open") == made.persons
    # Bob's upload, which was half sent, is signed again with samples in groups, and so Alice's is asked for again.
    assert made.contributions("alice") == 2


def test_one_party_after_another_in_the_documented_order_on_sqlite(site: Callable[..., Site]) -> None:
    """Carole and the coordinator first, under the custodians' eyes, who are refused in clear words until upgraded."""
    made = site(("open", "later"))
    made.half_uploaded("open")
    # A coordinator who is upgraded before Carole.
    with pytest.raises(TrystError, match="older release") as early, connect(made.configs["coordinator"]) as coordinator:
        coordinator.projects()
    assert early.value.code is ErrorCode.WRONG_STATE
    made.stop("carole")
    upgraded(made)
    made.start(NEW, "carole")
    # One who is not upgraded after her.
    late = made.former.tryst("project", "status", "--config", made.configs["coordinator"])
    assert (late.returncode, "Traceback" in late.stderr) == (1, False)
    assert "this service is of a newer release" in late.stderr
    assert "install the service's release" in late.stderr
    made.start(made.former, "bob")
    for side in Side:
        made.eventually(lambda side=side: "this service is of a newer release" in made.log(side))
    made.stop("alice")
    made.start(NEW, "alice")
    made.stop("bob")
    made.start(NEW, "bob")
    assert made.link("open") == made.persons
    made.create("later")
    assert made.link("later") == made.persons
