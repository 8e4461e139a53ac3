"""The pages that show: all projects, one project, the profile, the share of a result, checkpoints, certificates."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from gemel.common.audit import Checkpoint
from gemel.common.documents.document import Provenance, read_provenance
from gemel.common.documents.result_warning import ResultWarning, by_severity
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.language import clauses, gettext, listed, marked, ngettext, written
from gemel.common.parties import Side
from gemel.common.specification import Specification, load_specification
from gemel.common.witnessing.wording import when
from gemel.console.custodian.custodian import PROJECT, CustodianPages
from gemel.console.custodian.project_words import described, mine, page_state, rows
from gemel.console.web.listing import paged, reloaded
from gemel.console.web.pages import certificates_page
from gemel.console.web.specification_words import specification_shown
from gemel.custodian.cleaning.profile import HEADINGS, Profile, profile_rows
from gemel.custodian.encoding.expected_layout import bounded_counts, expected_layout
from gemel.custodian.operator.control import Control
from gemel.custodian.source.cleaned_file import compared_columns
from gemel.protos.linkage.v1 import operator_pb2

_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_SMALL = marked("less than 10 KiB")
_CONTENT = {
    "open": marked("a keyed signature of each value of each row, and each row's blocking keys, keyed"),
    "block_keyed": marked(
        "for each blocking rule the rows that have its key, with keyed signatures of their values and under pseudonyms"
        " of that rule; samples of signatures of no row"
    ),
    "shared": marked(
        "for each blocking rule the rows that have its key, in random shares, of which no single party can read"
        " anything: keyed signatures of their values, and which values are missing; the digests of their blocks, keyed;"
        " samples of rows, likewise shared"
    ),
    "trusted": marked("the cleaned values themselves, row by row"),
}


@dataclass(frozen=True)
class Message:
    """One kind of message, which goes to Carole: at which step, what, of which columns of the source, how large."""

    when: str
    what: str
    columns: str
    size: str


def messages(spec: Specification, side: Side, records: int, sent: int) -> list[Message]:
    """The messages to Carole, in their order.

    `sent`: bytes of the contribution, if it was signed already; else 0, and its size is bounded by the source's
    `records`.
    """
    largest = expected_layout(bounded_counts(records, spec), spec, side).total_bytes
    content = [gettext(_CONTENT[spec.mode])]
    if spec.variables_of(side):
        content.append(gettext("each row's categories of variables as keyed codes"))
    found = [
        _small(
            gettext("you approve"),
            gettext(
                "your signature; the number of records, and in a line where they come from, if you have configured that"
            ),
        ),
        _small(
            gettext("the seed is agreed"),
            gettext(
                "public keys, and digests of the signatures of public test records, so that keys that differ are found"
            ),
        ),
        Message(
            gettext("your records are sent"),
            clauses(content),
            listed(compared_columns(spec, side)),
            in_units(sent) if sent else gettext("at most {size}").format(size=in_units(largest)),
        ),
    ]
    if spec.leakage.refuses(spec.mode):
        found.append(
            _small(
                gettext("your records are sent"),
                gettext(
                    "the figure that your service has measured against the limit of leakage, and your reason if you"
                    " override it: both enter the audit log"
                ),
            )
        )
    if spec.in_blocks:
        handles = _handles(spec)
        found.append(Message(gettext("a run asks for handles"), handles, "", gettext("some bytes for each row")))
    for transfer in (each for each in spec.release.transfers if each.sender is side):
        columns = listed(spec.release.granted_columns(transfer))
        what = gettext("the values of these columns of linked records, sealed to {recipient}")
        size = gettext("by the number of links")
        found.append(
            Message(gettext("the result is released"), what.format(recipient=transfer.recipient), columns, size)
        )
    countersigned = gettext("your countersignature of her audit log, and the kind of what blocks you")
    found.append(_small(gettext("at each step"), countersigned))
    return found


def _small(when: str, what: str) -> Message:
    return Message(when, what, "", gettext(_SMALL))


def _handles(spec: Specification) -> str:
    if spec.latent is not None:
        form = gettext(
            "of the rows of candidate pairs, which of them are of one record, with the codes of their variables: sealed"
            " to {reader}, as many as the specification's caps allow"
        )
    else:
        form = gettext(
            "of the rows of candidate pairs, which of them are of one record: sealed to {reader}, as many as the"
            " specification's caps allow"
        )
    return form.format(reader="Carole" if spec.resolution.joined else gettext("the coordinator"))


def in_units(size: int) -> str:
    """A number of bytes, to three digits."""
    for unit, name in _UNITS:
        if size >= unit:
            number = written(size / unit, ".3g") if size < 999.5 * unit else written(size // unit, ",d")
            return f"{number} {name}"
    return ngettext("{size} byte", "{size} bytes", size).format(size=size)


# A custodian's share of a result, in counts: its tables, how many rows each has, and where they come from.
#
# Of a table only the metadata and the number of rows are read: what stands in its rows is for the operator's own
# programs, and never on a page.

TABLES = {
    "links": marked("your identifiers of linked records, each link's id and probability"),
    "pairs": marked("every pair that came near to a link"),
    "draws": marked("drawn linkages"),
    "linked": marked("your identifiers of linked records, with the other custodian's columns that are granted to you"),
    "linked_draws": marked("the same of each drawn linkage"),
    "copies": marked("records of yours that count as one person"),
    "entities": marked("records of yours by person"),
}
"""The tables that a share may have, and what each holds."""
OTHERS = {
    "statistics.json": marked("the model and counts"),
    "joint.json": marked("the joint distribution of both files' variables, in codes"),
    "coarsening.csv": marked("what categories were released as; use it wherever you hand out values"),
    "timings.json": marked("how long each step took"),
}


class ShareTable(NamedTuple):
    """One table of a share."""

    name: str
    what: str
    rows: int


class SeenShare(NamedTuple):
    """A share in counts."""

    tables: tuple[ShareTable, ...]
    others: tuple[tuple[str, str], ...]
    provenance: Provenance | None


def seen_share(folder: Path) -> SeenShare:
    """A share as it lies in its folder."""
    if not folder.is_dir():
        raise GemelError(
            ErrorCode.NOT_FOUND,
            "the share is no longer where your service has written it",
            where=str(folder),
            remedy="restore it from a backup, if it was not deleted on purpose",
        )
    tables, provenance = [], None
    for name, what in TABLES.items():
        file = folder / f"{name}.parquet"
        if file.is_file():
            provenance = provenance or read_provenance(file)
            tables.append(ShareTable(file.name, gettext(what), pl.scan_parquet(file).select(pl.len()).collect().item()))
    others = tuple((name, gettext(what)) for name, what in OTHERS.items() if (folder / name).is_file())
    return SeenShare(tuple(tables), others, provenance)


LINKS = ((marked("Projects"), "/"), (marked("Checkpoints"), "/checkpoints"), (marked("Certificates"), "/certificates"))
CHECKPOINTS = 25
"""Of the newest that are shown."""


class ProjectPages(CustodianPages):
    """What a custodian sees."""

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/", self.projects),
            Route("/live", self.overview),
            Route("/checkpoints", self.checkpoints),
            Route("/certificates", self.certificates),
            Route(PROJECT, self.project),
            Route(f"{PROJECT}/live", self.live),
            Route(f"{PROJECT}/profile", self.profile),
            Route(f"{PROJECT}/results", self.results),
        ]

    def projects(self, request: Request) -> Response:
        with self._custodian.service() as service:
            status = service.status()
        found = rows(status.projects, self._custodian.party)
        return self._pages.page(
            "custodian_projects.html.j2",
            request,
            **_overview(status),
            **paged(found, request.query_params),
            state_token=page_state(*status.projects),
        )

    def overview(self, request: Request) -> Response:
        """The part of the first page that changes by itself."""
        with self._custodian.service() as service:
            status = service.status()
        answer = self._pages.page("custodian_overview.html.j2", request, **_overview(status))
        return reloaded(request, answer, page_state(*status.projects))

    def project(self, request: Request) -> Response:
        """One project: its state, what can be decided, what would leave, its specification."""
        with self._project(request) as (service, project):
            shown = self.specified(service, project) if project.specification_digest else {"specification": None}
        return self._pages.page(
            "custodian_project.html.j2",
            request,
            **described(project, self._custodian.party),
            **shown,
            decisions=list(project.decisions),
            epoch=project.epoch,
            state_token=page_state(project),
        )

    def live(self, request: Request) -> Response:
        """The part of a project's page that changes by itself."""
        with self._project(request) as (_, project):
            answer = self._pages.page("custodian_live.html.j2", request, **described(project, self._custodian.party))
        return reloaded(request, answer, page_state(project))

    def profile(self, request: Request) -> Response:
        """Counts of what the service has read."""
        with self._project(request) as (service, project):
            shown = profile_shown(service.profile(project.project))
        return self._pages.page("profile.html.j2", request, project=project.project, **shown)

    def results(self, request: Request) -> Response:
        """Where the share of the newest released run is, in counts."""
        with self._project(request) as (_, project):
            folder = project.results
        if not folder:
            raise GemelError(
                ErrorCode.WRONG_STATE,
                "your service has no share of a result of this project",
                where=project.project,
                remedy="look at the project, what it waits for",
            )
        shown: dict[str, Any] = {"project": project.project, "links": project.links, "folder": folder}
        return self._pages.page("share.html.j2", request, **shown, share=seen_share(Path(folder)))

    def checkpoints(self, request: Request) -> Response:
        """What of Carole's audit log the service has verified, and which checkpoints a restoration has cut off."""
        with self._custodian.service() as service:
            kept, lost = list(service.checkpoints()), list(service.checkpoints(lost=True))
        return self._pages.page(
            "checkpoints.html.j2",
            request,
            kept=len(kept),
            newest=_checkpoints(kept),
            lost=_checkpoints(lost),
            party=self._custodian.party.name,
        )

    def certificates(self, request: Request) -> Response:
        with self._custodian.service() as service:
            status = service.status()
        return certificates_page(self._pages, request, self._custodian.folder, status.member, status.certificates)

    def specified(self, service: Control, project: operator_pb2.CustodianProject) -> dict[str, Any]:
        """What a page shows of a project's specification: in words, and what would leave under it."""
        found = service.specification(project.project)
        spec = load_specification(found.text, f"the specification of project {project.project}")
        shown = specification_shown(spec, found.text)
        # The service's notes have those on an epoch too, and its digest is what it would sign.
        shown |= {"notes": list(found.notes), "digest": found.digest.hex()}
        side = self._custodian.party.side
        records = _records(service, project)
        leaving = None if records is None else messages(spec, side, records, project.upload_bytes)
        identifier = spec.custodians.of(side).identifier
        return {"specification": shown, "leaving": leaving, "identifier": identifier, "records": records}


def profile_shown(text: str) -> dict[str, Any]:
    """What a page shows of a profile, which is counts only."""
    counts = json.loads(text)
    warnings = [ResultWarning.model_validate(each) for each in counts.pop("warnings", [])]
    # What else a service has noted beside its counts, such as the file's encoding, is a warning or is not shown.
    profile = Profile.from_dict(counts)
    return {
        "profile_rows": list(profile_rows(profile)),
        "headings": HEADINGS,
        "records": profile.rows,
        "warnings": by_severity(warnings),
    }


def _records(service: Control, project: operator_pb2.CustodianProject) -> int | None:
    """Records of the source, once they were read."""
    try:
        return int(json.loads(service.profile(project.project))["rows"])
    except GemelError as error:
        if error.code is ErrorCode.WRONG_STATE:
            return None
        raise


def _overview(status: operator_pb2.StatusResponse) -> dict[str, Any]:
    return {
        "carole": status.carole,
        "connected": status.connected,
        "refusal": status.refusal,
        "certificate": status.certificate,
        "mine": mine(status.projects),
    }


def _checkpoints(found: list[Checkpoint]) -> list[tuple[int, str]]:
    """Size and time of each, the newest first."""
    return [(each.size, when(each.at)) for each in islice(reversed(found), CHECKPOINTS)]
