"""``python deploy/configurations.py`` writes the configurations here, from the templates that `gemel init` uses.

Every way of running a service finds the same places:

======================== =============================================== ==================
/etc/gemel/PARTY/        PARTY.yaml                                      read by the service
/etc/gemel/PARTY/keys/   keys and certificates                           read by the service only
/srv/gemel/PARTY/        a custodian's records                           read by the service
/var/lib/gemel/PARTY/    its state; a custodian's results                written by the service
/var/cache/gemel/        machine code, compiled at the first use         written by the service
======================== =============================================== ==================

Those for Kubernetes differ in one thing: metrics and probes are at the pod's address.
"""

from __future__ import annotations

from pathlib import Path

from gemel.carole.configuration import template as carole_yaml
from gemel.common.observability.settings import local
from gemel.common.parties import Party, Role, Side
from gemel.coordinator.client.client_configuration import template as coordinator_yaml
from gemel.custodian.joining import custodian_yaml

ADDRESS = "carole:7443"
"""Carole's address: a name that DNS, /etc/hosts, compose or a cluster resolves."""

UNPRIVILEGED = " ".join(["0000"] * 16)
"""Placeholder of the other custodian's fingerprint: no service starts before it is replaced."""


def configurations() -> dict[str, str]:
    """The text of every configuration, by its path in this folder."""
    return {
        **{f"{side}/{side}.yaml": _custodian(side) for side in Side},
        **{f"helm/{side}.yaml": _custodian(side, in_pod=True) for side in Side},
        "carole/carole.yaml": _carole(),
        "helm/carole.yaml": _carole(in_pod=True),
        "coordinator/coordinator.yaml": coordinator_yaml(
            ADDRESS, keys="/etc/gemel/coordinator/keys", state="/var/lib/gemel/coordinator"
        ),
        "steward/steward.yaml": coordinator_yaml(
            ADDRESS, keys="/etc/gemel/steward/keys", state="/var/lib/gemel/steward", role=Role.STEWARD
        ),
    }


def _listen(party: str, in_pod: bool) -> str:
    """Where metrics and probes are: the kubelet and a cluster's Prometheus call the pod's own address."""
    address = local(party)
    return f"0.0.0.0:{address.rpartition(':')[2]}" if in_pod else address


def _carole(*, in_pod: bool = False) -> str:
    return carole_yaml(
        "0.0.0.0:7443",  # of her own machine, container or pod
        keys="/etc/gemel/carole/keys",
        store="/var/lib/gemel/carole",
        observability=_listen("carole", in_pod),
        allow_remote=in_pod,
    )


def _custodian(side: Side, *, in_pod: bool = False) -> str:
    return custodian_yaml(
        Party(side, side.title()),
        carole=ADDRESS,
        peer_fingerprint=UNPRIVILEGED,
        data=f"/srv/gemel/{side}/",
        keys=f"/etc/gemel/{side}/keys",
        state=f"/var/lib/gemel/{side}/state",
        results=f"/var/lib/gemel/{side}/results",
        listen=_listen(side, in_pod),
        allow_remote=in_pod,
    )


if __name__ == "__main__":
    for name, text in configurations().items():
        path = Path(__file__).parent / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
