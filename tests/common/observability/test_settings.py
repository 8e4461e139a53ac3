"""The section ``observability`` of a configuration: where metrics and probes may be."""

from __future__ import annotations

import pytest
import yaml
from pydantic import ValidationError

from gemel.common.observability.settings import Observability, host_and_port, local, section


@pytest.mark.parametrize("listen", ["", "127.0.0.1:9464", "127.8.8.8:0", "[::1]:9464"])
def test_none_or_this_machine_alone(listen: str) -> None:
    assert Observability(listen=listen).listen == listen


@pytest.mark.parametrize("listen", ["0.0.0.0:9464", "10.0.0.3:9464", "192.0.2.1:9464", "[::]:9464", "[2001:db8::1]:1"])
def test_another_address_is_refused_unless_it_is_allowed(listen: str) -> None:
    with pytest.raises(ValidationError, match="must be a loopback address"):
        Observability(listen=listen)
    assert Observability(listen=listen, allow_remote=True).listen == listen


@pytest.mark.parametrize("listen", ["localhost:9464", "9464", "127.0.0.1", "127.0.0.1:99999", "127.0.0.256:1", "::1:5"])
def test_only_an_address_and_a_port_are_taken(listen: str) -> None:
    """No name: a file on the machine decides what it means."""
    with pytest.raises(ValidationError, match="expected IP:port"):
        Observability(listen=listen, allow_remote=True)


@pytest.mark.parametrize(("listen", "remote"), [("", False), ("127.0.0.1:9464", False), ("0.0.0.0:1", True)])
def test_the_template_is_the_section(listen: str, remote: bool) -> None:
    (found,) = yaml.safe_load(section(listen, allow_remote=remote)).values()
    expected = Observability(listen=listen, allow_remote=remote)
    assert Observability(**found) == expected
    # What is new by default shows nothing to others and names no one.
    assert not expected.label_projects
    assert not expected.share_request_ids


def test_one_port_per_party() -> None:
    ports = {host_and_port(local(party)) for party in ("carole", "alice", "bob")}
    assert {host for host, _ in ports} == {"127.0.0.1"}
    assert len(ports) == 3
