"""Whose console it is: a custodian, its configuration, and the way to its running service."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request

from tryst.common.custodian.configuration import CustodianConfiguration, load_custodian
from tryst.common.custodian.operator.control import Control
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.leakage_report import Gate
from tryst.common.parties import Party
from tryst.common.pki.folders import PartyFolder
from tryst.common.pki.list_pin import ListPin
from tryst.common.pki.members import Members
from tryst.common.specification.model.content import PROJECT_PATTERN
from tryst.protos.linkage.v1 import operator_pb2

PROJECT = "/projects/{project}"
"""Of the addresses of a project's pages."""


@dataclass(frozen=True)
class Custodian:
    """The custodian that a console acts as.

    Attributes
    ----------
    party
        Alice or Bob.
    config
        Its configuration file.
    load_gate
        Imports what measures what Carole could learn; a function of a module, since another process calls it.
    """

    party: Party
    config: Path
    load_gate: Callable[[], Gate]

    @property
    def configuration(self) -> CustodianConfiguration:
        """As the file is now."""
        return load_custodian(self.config)

    @property
    def folder(self) -> PartyFolder:
        """Its keys."""
        return PartyFolder(self.configuration.keys)

    @property
    def members(self) -> Members:
        """The membership list in it, of the digest that the configuration pins."""
        return ListPin(self.config.absolute()).load(self.folder.members)

    def service(self) -> AbstractContextManager[Control]:
        """The running service, which may have been started again since the last page.

        Raises
        ------
        TrystError
            As `Control.open`.
        """
        return Control.open(self.config, self.party)


def project_of(control: Control, request: Request) -> operator_pb2.CustodianProject:
    """The project in a page's address, as the service shows it.

    Raises
    ------
    TrystError
        NOT_FOUND for one that it does not know, or a name that no project can have.
    """
    name: str = request.path_params["project"]
    if re.fullmatch(PROJECT_PATTERN, name):
        for found in control.status().projects:
            if found.project == name:
                return found
    raise TrystError(
        ErrorCode.NOT_FOUND,
        "your service knows no project of such a name",
        where="the page's address",
        remedy="see the list of projects",
    )
