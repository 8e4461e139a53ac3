"""What Carole shows of herself: her checks, her metrics, the record of her calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gemel.carole.service.context import ServiceContext
from gemel.carole.service.metrics import CaroleMetrics
from gemel.carole.service.supervisor import Supervisor
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.observability.readiness import Readiness
from gemel.common.observability.settings import Observability
from gemel.common.rpc.observation import Observation
from gemel.common.rpc.trust import Trust
from gemel.common.versions import STORE, WIRE


def observe(
    settings: Observability,
    service: ServiceContext,
    supervisors: Sequence[Supervisor],
    trust: Trust,
    check_keys: Callable[[], None],
) -> Observation:
    """The metrics and probes of one Carole, not yet started.

    Parameters
    ----------
    service
        Her store, and whether she is stopping.
    trust
        Her members and certificates.
    check_keys
        Raises if the wrapping keys cannot be used.
    """
    monitoring = service.store.monitoring

    def check_serving() -> None:
        if service.stopping.is_set():
            raise GemelError(ErrorCode.UNAVAILABLE, "Carole is stopping")

    readiness = Readiness(
        {
            "database": monitoring.check_database,
            "blobs": monitoring.check_blobs,
            "tenure": monitoring.check_tenure,
            "keys": check_keys,
            "clock": service.store.clock_guard.require,
            "serving": check_serving,
        }
    )
    versions = {"wire": WIRE, "store": str(STORE)}
    made = Observation(settings, readiness, versions, callers_requests=settings.share_request_ids)
    label_projects = settings.label_projects
    workers = [supervisor.health for supervisor in supervisors]
    metrics = CaroleMetrics(monitoring, readiness, trust, workers, label_projects=label_projects)
    made.registry.register(metrics)
    return made
