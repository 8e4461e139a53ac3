"""``python deploy/monitoring/dashboard.py`` writes ``dashboard.json``, to be imported by Grafana.

Every panel is a line of the table below: its title, its unit, its queries with their legends. The data source and the
instance are chosen at the top of the page, so one dashboard serves every organisation.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Panel = tuple[str, str, dict[str, str]]
"""Title, unit, and queries by their legends."""

ROWS: dict[str, tuple[Panel, ...]] = {
    "State": (
        ("Checks", "bool", {"{{instance}} {{check}}": "gemel_check"}),
        ("Certificates", "d", {"{{instance}} {{certificate}}": "gemel_certificate_days_left"}),
        ("Members' certificates", "d", {"{{role}}": "gemel_member_certificate_days_left"}),
        ("Free disk", "percentunit", {"{{instance}} {{disk}}": "gemel_disk_free_bytes / gemel_disk_size_bytes"}),
        (
            "Memory of the process",
            "bytes",
            {"{{instance}}": 'process_resident_memory_bytes{job="gemel"}'},
        ),
    ),
    "Projects": (
        ("Projects by state", "short", {"{{instance}} {{state}}": "gemel_projects > 0"}),
        (
            "A custodian's projects",
            "short",
            {
                "{{instance}} blocked": "gemel_projects_blocked",
                "{{instance}} wait for the operator": "gemel_projects_waiting",
            },
        ),
        ("Open uploads", "short", {"uploads": "gemel_uploads_open"}),
        ("Payloads", "short", {"uploads, artifacts, shares": "gemel_store_payloads"}),
        ("Stored", "bytes", {"all": "gemel_store_bytes", "open uploads": "gemel_uploads_open_bytes"}),
        ("Retention over", "short", {"uploads and results": "gemel_retention_due"}),
    ),
    "Runs": (
        ("Runs by state", "short", {"{{state}}": "gemel_runs"}),
        ("Queue", "short", {"waiting": "gemel_queue_runs"}),
        ("Oldest waiting run", "s", {"age": "gemel_queue_age_seconds"}),
        ("Stage of the run", "percentunit", {"{{stage}} {{project}}": "gemel_run_progress"}),
        ("Stages of the last run", "s", {"{{stage}}": "gemel_last_run_stage_seconds"}),
        (
            "Work of the last run",
            "short",
            {"candidate pairs": "gemel_last_run_candidate_pairs", "patterns": "gemel_last_run_patterns"},
        ),
        (
            "Memory of the last run",
            "bytes",
            {"peak": "gemel_last_run_peak_bytes", "granted": "gemel_last_run_granted_bytes"},
        ),
        ("Since the lease was renewed", "s", {"age": "gemel_run_lease_age_seconds"}),
        (
            "Worker",
            "short",
            {
                "there should be": "gemel_workers",
                "all alive": "gemel_worker_up",
                "started in an hour": "increase(gemel_worker_starts_total[1h])",
            },
        ),
    ),
    "Calls": (
        (
            "Calls by method",
            "reqps",
            {"{{method}}": "sum by (method) (rate(gemel_rpc_seconds_count[5m]))"},
        ),
        (
            "Calls that did not end well",
            "reqps",
            {"{{method}} {{role}} {{status}}": 'rate(gemel_rpc_seconds_count{status!="OK"}[5m]) > 0'},
        ),
        (
            "95 of 100 calls are answered within",
            "s",
            {"{{method}}": "histogram_quantile(0.95, sum by (method, le) (rate(gemel_rpc_seconds_bucket[5m])))"},
        ),
        (
            "Bytes",
            "Bps",
            {
                "received": "sum(rate(gemel_rpc_received_bytes_total[5m]))",
                "sent": "sum(rate(gemel_rpc_sent_bytes_total[5m]))",
            },
        ),
        ("Denied", "short", {"{{reason}}": "increase(gemel_rpc_denied_total[1h])"}),
    ),
    "Custodian": (
        ("Since Carole answered", "s", {"{{instance}}": "gemel_carole_silence_seconds"}),
        ("Connected", "bool", {"{{instance}}": "gemel_carole_connected"}),
        (
            "Steps",
            "short",
            {"{{instance}} {{step}} {{outcome}}": "increase(gemel_step_seconds_count[1h])"},
        ),
        (
            "Seconds of a step",
            "s",
            {"{{step}}": "rate(gemel_step_seconds_sum[1h]) / rate(gemel_step_seconds_count[1h])"},
        ),
    ),
    "Audit log": (
        ("Entries", "short", {"all": "gemel_audit_entries", "{{role}}": "gemel_audit_witnessed_entries"}),
        ("Age of the newest countersigned checkpoint", "s", {"{{role}}": "gemel_audit_witness_age_seconds"}),
    ),
}

WIDTH, HEIGHT, ACROSS = 8, 8, 3
_SOURCE = {"type": "prometheus", "uid": "${source}"}


def dashboard() -> dict[str, Any]:
    """The dashboard as Grafana imports it."""
    panels: list[dict[str, Any]] = []
    top = 0
    for row, contents in ROWS.items():
        place = {"h": 1, "w": 24, "x": 0, "y": top}
        panels.append({"type": "row", "title": row, "collapsed": False, "panels": [], "gridPos": place})
        top += 1
        for number, panel in enumerate(contents):
            across, down = number % ACROSS, number // ACROSS
            panels.append(_panel(panel, across * WIDTH, top + down * HEIGHT))
        top += HEIGHT * -(-len(contents) // ACROSS)
    for number, made in enumerate(panels, 1):
        made["id"] = number
    return {
        "title": "Gemel",
        "uid": "gemel",
        "tags": ["gemel"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "1m",
        "time": {"from": "now-24h", "to": "now"},
        "templating": {
            "list": [{"name": "source", "label": "Data source", "type": "datasource", "query": "prometheus"}]
        },
        "panels": panels,
    }


def _panel(panel: Panel, x: int, y: int) -> dict[str, Any]:
    title, unit, queries = panel
    return {
        "type": "timeseries",
        "title": title,
        "datasource": _SOURCE,
        "gridPos": {"h": HEIGHT, "w": WIDTH, "x": x, "y": y},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + number), "datasource": _SOURCE, "expr": expression, "legendFormat": legend}
            for number, (legend, expression) in enumerate(queries.items())
        ],
    }


if __name__ == "__main__":
    path = Path(__file__).with_name("dashboard.json")
    path.write_text(json.dumps(dashboard(), indent=1) + "\n", encoding="utf-8")
