"""Whose console it is: a custodian, its configuration, and the way to its running service."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Party
from gemel.common.pki.folders import PartyFolder
from gemel.common.specification.model.content import PROJECT_PATTERN
from gemel.console.web.pages import Pages
from gemel.custodian.configuration import CustodianConfiguration, load_custodian
from gemel.custodian.leakage_report import Gate
from gemel.custodian.operator.control import Control
from gemel.custodian.steps.leakage_gate import load_gate
from gemel.protos.linkage.v1 import operator_pb2

PROJECT = "/projects/{project}"
"""Of the addresses of a project's pages."""


@dataclass(frozen=True)
class Custodian:
    """The custodian that a console acts as, by its configuration file.

    `load_gate` imports what measures what Carole could learn; a function of a module, since another process calls it.
    """

    party: Party
    config: Path
    load_gate: Callable[[], Gate] = load_gate

    @property
    def configuration(self) -> CustodianConfiguration:
        return load_custodian(self.config)

    @property
    def folder(self) -> PartyFolder:
        return PartyFolder(self.configuration.keys)

    def service(self) -> AbstractContextManager[Control]:
        return Control.open(self.config, self.party)


class CustodianPages:
    def __init__(self, custodian: Custodian, pages: Pages) -> None:
        self._custodian, self._pages = custodian, pages

    @contextmanager
    def _project(self, request: Request) -> Iterator[tuple[Control, operator_pb2.CustodianProject]]:
        with self._custodian.service() as service:
            yield service, project_of(service, request)


def project_of(control: Control, request: Request) -> operator_pb2.CustodianProject:
    name: str = request.path_params["project"]
    if re.fullmatch(PROJECT_PATTERN, name):
        for found in control.status().projects:
            if found.project == name:
                return found
    what = "your service knows no project of such a name"
    raise GemelError(ErrorCode.NOT_FOUND, what, where="the page's address", remedy="see the list of projects")
