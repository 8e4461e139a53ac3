"""The services' pages after a linkage, scraped as Prometheus does; dashboard, alerts and runbook against them.

Three processes link a small project. A second Carole, in this process, holds a store in which runs wait and are worked
on, since no test can hold a run of a moment still.
"""

from __future__ import annotations

import json
import re
import runpy
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from gemel.common.errors import GemelError
from gemel.common.observability.settings import host_and_port
from gemel.common.parties import Side
from gemel.protos.linkage.v1 import custody_pb2, custody_pb2_grpc
from tests.carole.trial import PROJECT as TRIAL
from tests.carole.trial import Contribution, contributed
from tests.deploy.sites import DEPLOY, REPOSITORY
from tests.e2e.deployment import Deployment, specification

PROJECT = "births-of-2025"
TEXT = specification(PROJECT, more="blocking:\n  - {name: born, keys: [{field: born}]}\n")
RULES: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((DEPLOY / "monitoring/alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
]
DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "monitoring/dashboard.json").read_text())
QUERIES = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", [])]


def get(address: str, path: str, accept: str = "") -> tuple[int, str]:
    connection = HTTPConnection(*host_and_port(address), timeout=30)
    try:
        connection.request("GET", path, headers={"Accept": accept} if accept else {})
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


@dataclass
class Page:
    """What a service's page has, as Prometheus keeps it: with the job and the instance that it adds."""

    text: str
    samples: list[Sample]
    names: set[str]

    @classmethod
    def read(cls, address: str) -> Page:
        status, text = get(address, "/metrics")
        assert status == 200
        families = list(text_string_to_metric_families(text))
        samples = [
            sample._replace(labels={**sample.labels, "job": "gemel", "instance": address})
            for family in families
            for sample in family.samples
        ]
        return cls(text, samples, {family.name for family in families})

    def value(self, name: str, **labels: str) -> float:
        (found,) = (each.value for each in self.samples if each.name == name and labels.items() <= each.labels.items())
        return found


@dataclass
class Pages:
    """The pages of the three services after a linkage, and of a Carole with work before her."""

    deployment: Deployment
    services: dict[str, str]
    pages: dict[str, Page]

    @property
    def samples(self) -> list[Sample]:
        return [sample for page in self.pages.values() for sample in page.samples]


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    made = Deployment(tmp_path_factory.mktemp("observed") / "parties", [TEXT])
    for path in (made.carole_yaml, *made.configs.values()):
        text = path.read_text()
        assert 'listen: ""' in text
        path.write_text(text.replace('listen: ""', 'listen: "127.0.0.1:0"'))
    waiting = Deployment(tmp_path_factory.mktemp("waiting") / "parties", [])
    waiting.carole_yaml.write_text(waiting.carole_yaml.read_text().replace('listen: ""', 'listen: "127.0.0.1:0"'))
    try:
        names = ("carole", *map(str, Side))
        services = {
            name: str(process.wait_ready()["observability"])
            for name, process in zip(names, made.processes(*names), strict=True)
        }
        made.link(TEXT)
        # Bob's certificate at a method of the coordinator's, so that something was denied.
        connection = made.connection("coordinator")
        with pytest.raises(GemelError):
            connection.call(connection.stub(custody_pb2_grpc.CustodyStub).NextTask, custody_pb2.NextTaskRequest())
        pages = {name: Page.read(address) for name, address in services.items()}
        application = waiting.start_carole()
        contributed(application.store, {side: Contribution(number, rows=50) for number, side in enumerate(Side)})
        application.store.runs.start(TRIAL, "coordinator", "request", "e" * 32)
        lease = application.store.runs.take("worker")
        assert lease is not None
        application.store.runs.renew_lease(lease, "compare", 0.5)
        pages["waiting"] = Page.read(application.observability)
        yield Pages(made, services, pages)
    finally:
        made.close()
        waiting.close()


def test_the_pages_say_what_happened(scraped: Pages) -> None:
    carole = scraped.pages["carole"]
    assert carole.value("gemel_projects", state="released") == 1
    assert carole.value("gemel_runs", state="done") == 1
    assert carole.value("gemel_queue_runs") == 0
    stages = [sample for sample in carole.samples if sample.name == "gemel_last_run_stage_seconds"]
    assert {"read", "seal"} < {sample.labels["stage"] for sample in stages}
    assert all(0 <= sample.value < 600 for sample in stages)
    pairs = carole.value("gemel_last_run_candidate_pairs")
    assert 0 < pairs == float(f"{pairs:.1e}") <= 120 * 120
    assert carole.value("gemel_last_run_patterns") > 0
    assert 0 < carole.value("gemel_last_run_peak_bytes") < carole.value("gemel_last_run_granted_bytes") == 3 << 30
    assert carole.value("gemel_worker_up") == 1
    assert carole.value("gemel_worker_starts_total") == 1
    assert carole.value("gemel_uploads_open") == 0
    assert carole.value("gemel_retention_due") == 0
    assert carole.value("gemel_rpc_denied_total", reason="not admitted") == 1
    assert carole.value("gemel_rpc_denied_total", reason="unknown caller") == 0
    commits = {"method": "/linkage.v1.Custody/CommitUpload", "status": "OK"}
    assert carole.value("gemel_rpc_seconds_count", role="custodian-a", **commits) == 1
    assert carole.value("gemel_rpc_seconds_count", role="custodian-b", **commits) == 1
    entries = carole.value("gemel_audit_entries")
    for role in ("custodian-a", "custodian-b"):
        assert 0 < carole.value("gemel_audit_witnessed_entries", role=role) <= entries
        assert 0 <= carole.value("gemel_audit_witness_age_seconds", role=role) < 3600
    assert 0 < carole.value("gemel_certificate_days_left", certificate="own") < 1
    assert carole.value("gemel_certificate_ending", certificate="own") == 0, "of its two hours nearly all is left"
    for role in ("linker", "coordinator", "custodian-a", "custodian-b"):
        assert 0 < carole.value("gemel_member_certificate_days_left", role=role) < 1
        assert carole.value("gemel_member_certificate_ending", role=role) == 0
    for side in Side:
        page = scraped.pages[str(side)]
        assert page.value("gemel_carole_connected") == 1
        assert page.value("gemel_projects", state="released") == 1
        assert page.value("gemel_projects_blocked") == 0
        assert page.value("gemel_step_seconds_count", step="contribute", outcome="done") == 1
    waiting = scraped.pages["waiting"]
    assert waiting.value("gemel_run_progress", stage="compare") == 0.5
    assert waiting.value("gemel_runs", state="running") == 1


def test_every_line_about_a_run_has_the_request_that_started_it(scraped: Pages) -> None:
    lines = [json.loads(line) for line in (scraped.deployment.logs / "carole.log").read_text().splitlines()]
    (requested,) = [line for line in lines if line["event"] == "run requested"]
    (call,) = [line for line in lines if line.get("method") == "/linkage.v1.Coordination/StartRun"]
    assert call["request"] == requested["request"]
    of_worker = [line for line in lines if line["process"] == "worker" and line.get("run") == requested["run"]]
    assert {"run started", "run finished"} <= {line["event"] for line in of_worker}
    assert {line["request"] for line in of_worker} == {requested["request"]}
    # Carole's own id: no organisation has agreed to share its own.
    assert scraped.deployment.coordinator.shared_request == ""


def test_the_newer_format_is_served_too(scraped: Pages) -> None:
    status, text = get(scraped.services["carole"], "/metrics", "application/openmetrics-text; version=1.0.0")
    assert status == 200
    # There a counter's family is named without its ending.
    expected = {re.sub("_(total|info)$", "", name) for name in scraped.pages["carole"].names}
    assert {family.name for family in openmetrics(text)} == expected


def test_no_project_no_member_and_no_path_is_named(scraped: Pages) -> None:
    for page in scraped.pages.values():
        # Members are named as their roles in other tests; here alice, bob and carole are names of members alone.
        for word in (PROJECT, TRIAL, str(scraped.deployment.root), "alice", "bob"):
            assert word not in page.text
    for address in scraped.services.values():
        for path in ("/readyz", "/livez"):
            status, text = get(address, path)
            assert status == 200
            assert "/" not in text


def test_all_are_ready(scraped: Pages) -> None:
    names = {"carole": {"database", "blobs", "tenure", "keys", "clock", "serving"}}
    for party, address in scraped.services.items():
        checks = json.loads(get(address, "/readyz")[1])
        assert checks["ready"] is True
        assert set(checks["checks"]) == names.get(party, {"state", "keys", "agent"})


# --- Dashboard, alerts, runbook


def selectors(node: Any) -> Iterator[Any]:
    if isinstance(node, promql_parser.VectorSelector):
        yield node
    for part in ("lhs", "rhs", "expr", "param", "vector_selector"):
        inner = getattr(node, part, None)
        if isinstance(inner, promql_parser.Expr):
            yield from selectors(inner)
    for inner in getattr(node, "args", None) or ():
        yield from selectors(inner)


def matches(sample: Sample, selector: Any) -> bool:
    if sample.name != selector.name:
        return False
    for matcher in selector.matchers.matchers:
        value = sample.labels.get(matcher.name, "")
        equal = matcher.op in (promql_parser.MatchOp.Equal, promql_parser.MatchOp.NotEqual)
        found = value == matcher.value if equal else re.fullmatch(matcher.value, value) is not None
        if found is (matcher.op in (promql_parser.MatchOp.NotEqual, promql_parser.MatchOp.NotRe)):
            return False
    return True


def test_every_query_of_the_dashboard_finds_series(scraped: Pages) -> None:
    assert len(QUERIES) > 30
    for query in QUERIES:
        found = list(selectors(promql_parser.parse(query)))
        assert found, query
        for selector in found:
            assert any(matches(sample, selector) for sample in scraped.samples), f"{selector.name} of {query}"


def test_every_alert_is_about_series_that_are_there(scraped: Pages) -> None:
    for rule in RULES:
        found = list(selectors(promql_parser.parse(rule["expr"])))
        assert found, rule["alert"]
        for selector in found:
            if selector.name == "up":  # Prometheus' own
                continue
            series = [sample for sample in scraped.samples if sample.name == selector.name]
            assert series, f"{selector.name} of {rule['alert']}"
            labels = set.union(*(set(sample.labels) for sample in series))
            assert {matcher.name for matcher in selector.matchers.matchers} <= labels
            # What an alert of a rare status selects need not be there, and its plain values must.
            exact = [m for m in selector.matchers.matchers if m.op == promql_parser.MatchOp.Equal]
            assert all(any(sample.labels[m.name] == m.value for sample in series) for m in exact), rule["alert"]
        shown = re.findall(r"\{\{ \$labels\.(\w+) \}\}", rule["annotations"]["summary"])
        first = [sample for sample in scraped.samples if sample.name == (found[0].name)]
        assert found[0].name == "up" or set(shown) <= set(first[0].labels), rule["alert"]


def test_every_metric_of_ours_is_on_the_dashboard_or_in_an_alert(scraped: Pages) -> None:
    used = {selector.name for query in QUERIES for selector in selectors(promql_parser.parse(query))}
    used |= {selector.name for rule in RULES for selector in selectors(promql_parser.parse(rule["expr"]))}
    ours = {name for page in scraped.pages.values() for name in page.names if name.startswith("gemel_")}
    unused = {name for name in ours if not any(re.fullmatch(f"{name}(_total|_count|_sum|_bucket)?", u) for u in used)}
    # Versions are looked up, and whether the store was read is the check of the database.
    assert unused == {"gemel_info", "gemel_store_up", "gemel_state_up"}


def test_every_alert_has_its_section_in_the_runbook_and_the_reverse() -> None:
    sections = re.findall(r"^## (Gemel\w+)$", (REPOSITORY / "docs/runbook.md").read_text(), re.MULTILINE)
    alerts = [rule["alert"] for rule in RULES]
    assert len(set(alerts)) == len(alerts)
    assert sections == sorted(set(sections), key=sections.index)
    assert set(sections) == set(alerts)
    text = (REPOSITORY / "docs/runbook.md").read_text()
    for section in text.split("\n## ")[1:]:
        if section.startswith("Gemel"):
            assert all(f"- **{part}**" in section for part in ("Means", "Seen by", "Do")), section.split("\n")[0]
    assert all(rule["labels"]["severity"] in ("info", "warning", "critical") for rule in RULES)


def test_the_dashboard_is_what_its_maker_writes() -> None:
    made = runpy.run_path(str(DEPLOY / "monitoring/dashboard.py"))["dashboard"]()
    assert made == DASHBOARD, "run python deploy/monitoring/dashboard.py"
    places = [tuple(panel["gridPos"].values()) for panel in made["panels"]]
    assert len(set(places)) == len(places)
    assert [panel["id"] for panel in made["panels"]] == list(range(1, len(places) + 1))


def test_prometheus_is_given_the_rules_and_the_port_of_a_page() -> None:
    given = yaml.safe_load((DEPLOY / "monitoring/prometheus.yaml").read_text())
    assert [Path(name) for name in given["rule_files"]] == [Path("alerts.yaml")]
    (job,) = given["scrape_configs"]
    assert job["job_name"] == "gemel"
    ((target,),) = (each["targets"] for each in job["static_configs"])
    assert f'listen: "{target}"' in (DEPLOY / "carole/carole.yaml").read_text()
