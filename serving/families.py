"""Gauges in one line each, and those that every service shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

from cryptography import x509
from prometheus_client.core import GaugeMetricFamily, Metric

from gemel.common.pki.checks import utc_now
from gemel.common.pki.ending import urgency
from gemel.serving.machine_check import disk_usage
from gemel.serving.readiness import Readiness, State

DAY_SECONDS = 86_400.0


def days_left(end: datetime) -> float:
    """Days until a certificate ends; negative afterwards."""
    return (end - utc_now()).total_seconds() / DAY_SECONDS


def gauge(name: str, help_text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, help_text, value=value)


def labelled(name: str, help_text: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, help_text, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


def service_metrics(
    readiness: Readiness, disks: Mapping[str, Path], certificates: Mapping[str, x509.Certificate]
) -> Iterable[Metric]:
    """What every service shows of itself: its checks, the disks that it writes to, its certificates, by the names
    shown."""
    checks = {name: float(state is State.OK) for name, state in readiness().items()}
    yield labelled("gemel_check", "Whether a check of /readyz is passed.", "check", checks)
    usage = {name: found for name, folder in disks.items() if (found := disk_usage(folder)) is not None}
    free = {name: found.free for name, found in usage.items()}
    yield labelled("gemel_disk_free_bytes", "Free bytes of a disk that the service writes to.", "disk", free)
    size = {name: found.total for name, found in usage.items()}
    yield labelled("gemel_disk_size_bytes", "All bytes of a disk that the service writes to.", "disk", size)
    days = {name: days_left(each.not_valid_after_utc) for name, each in certificates.items()}
    yield labelled("gemel_certificate_days_left", "Days until a certificate ends.", "certificate", days)
    now = utc_now()
    soon = {name: float(urgency(each, now)) for name, each in certificates.items()}
    yield labelled("gemel_certificate_ending", ENDING.format("a certificate"), "certificate", soon)


ENDING = "Whether {} ends soon (1: in 30 days, or a third of its time) or at once (2: in 7 days, or a tenth)."
