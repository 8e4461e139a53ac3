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
from gemel.common.pki.list_pin import ListPin
from gemel.common.pki.members import Members
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
        """As the file is now."""
        return load_custodian(self.config)

    @property
    def folder(self) -> PartyFolder:
        return PartyFolder(self.configuration.keys)

    @property
    def members(self) -> Members:
        """The membership list in it, of the digest that the configuration pins."""
        return ListPin(self.config.absolute()).load(self.folder.members)

    def service(self) -> AbstractContextManager[Control]:
        """The running service, which may have been started again since the last page."""
        return Control.open(self.config, self.party)


class CustodianPages:
    """Pages of a custodian, made of what its service answers."""

    def __init__(self, custodian: Custodian, pages: Pages) -> None:
        self._custodian, self._pages = custodian, pages

    @contextmanager
    def _project(self, request: Request) -> Iterator[tuple[Control, operator_pb2.CustodianProject]]:
        """The service, and the project in a page's address as it shows it."""
        with self._custodian.service() as service:
            yield service, project_of(service, request)


def project_of(control: Control, request: Request) -> operator_pb2.CustodianProject:
    """The project in a page's address, as the service shows it."""
    name: str = request.path_params["project"]
    if re.fullmatch(PROJECT_PATTERN, name):
        for found in control.status().projects:
            if found.project == name:
                return found
    raise GemelError(
        ErrorCode.NOT_FOUND,
        "your service knows no project of such a name",
        where="the page's address",
        remedy="see the list of projects",
    )
