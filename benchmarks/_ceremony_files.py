"""What `benchmarks.ceremony` needs beside the page: a specification whose result is held, and a free port."""

from __future__ import annotations

import socket

import numpy as np
import polars as pl

from gemel.coordinator.demonstration.people import two_files
from gemel.coordinator.demonstration.people.insured import with_traits

EXAMPLE = "carole.example.org:7443"
"""Carole's address on the page."""

SPECIFICATION = """\
version: 1
project: births
mode: open
custodians: {alice: {identifier: record_id}, bob: {identifier: record_id}}
fields:
  - {name: given_name, kind: name, bits: 512}
  - {name: surname, kind: name, bits: 512}
  - {name: sex, kind: category}
  - {name: date_of_birth, kind: date, date: {order: ymd}}
  - {name: postcode, kind: code}
  - {name: phone, kind: code}
variables:
  - {name: SocioEcon, holder: alice, role: key, categories: [Prole, Middle, UpperMiddle, Wealthy]}
  - {name: RiskAversion, holder: alice, role: sensitive, categories: [Psychopath, Adventurous, Normal, Cautious]}
  - {name: Age, holder: bob, role: key, categories: [Adolescent, Adult, Senior]}
  - {name: MakeModel, holder: bob, role: key, categories: [SportsCar, Economy, FamilySedan, Luxury, SuperLuxury]}
assessment:
  fractions: {alice: 0.05, bob: 0.05, combined: 0.025}
  limits: {sample_uniques: 0.0}
  on_breach: hold
leakage: {limit: 1.0}
release: {assessment: policy, alice: links, bob: links, coordinator: statistics}
retention: {uploads_days: 7, results_days: 30, maps_days: 90, releases_days: 365}
"""


def free_address() -> str:
    """An address of this machine at which nothing listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def two_sources() -> dict[str, pl.DataFrame]:
    """Alice's and Bob's records: 60 invented people each, 40 of them in both."""
    rng = np.random.default_rng(5)
    return dict(zip(("alice", "bob"), with_traits(*two_files(60, 60, 40, 0.2, rng), rng), strict=True))
