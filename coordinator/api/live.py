"""`gemel.Client`: a coordinator's live projects at Carole, from a notebook or a script."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import polars as pl

from gemel.carole.engine.run.specified import refuse_unidentified
from gemel.common.documents.model_document import StatisticsDocument
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.language import LanguageCode
from gemel.common.missing_module import missing_module
from gemel.common.specification import Specification, load_specification, specification_digest
from gemel.common.terminal.output import Report
from gemel.common.wire.project_states import STATE_WORDS
from gemel.coordinator.api.specifications import AnySpecification, Draft, linkage_report, specification_of
from gemel.coordinator.client.connection import connect
from gemel.coordinator.client.coordinator_client import Coordinator
from gemel.coordinator.client.run_progress import RESOLVE
from gemel.coordinator.client.terminal import condition_lines
from gemel.coordinator.draft.specification_text import dump_specification
from gemel.protos.linkage.v1 import project_pb2

POLL_SECONDS = 1.0


@dataclass(frozen=True)
class ProjectStatus:
    """Where a project stands.

    Attributes
    ----------
    project, owner
    state
        In words, such as "waits for approvals" or "released".
    run
        The newest run; empty before the first.
    links
        Of that run; None where it has not ended or the number is withheld.
    waits
        What custodians are waited for, a sentence each.
    error
        What blocks the project; empty otherwise.
    """

    project: str
    owner: str
    state: str
    run: str
    links: int | None
    waits: tuple[str, ...]
    error: str

    @classmethod
    def of(cls, status: project_pb2.ProjectStatus) -> ProjectStatus:
        run = status.run
        done = run.state == project_pb2.RUN_STATE_DONE and not run.links_withheld
        return cls(
            status.project,
            status.owner,
            STATE_WORDS.get(status.state, "unknown"),
            run.run,
            int(run.links) if done else None,
            tuple(condition_lines(status)),
            status.blocking_error or (run.error if run.state == project_pb2.RUN_STATE_FAILED else ""),
        )


@dataclass(frozen=True)
class ReleasedStatistics:
    """What a released run grants the coordinator: the model and aggregate statistics, and never a record."""

    specification: Specification = field(repr=False)
    statistics: StatisticsDocument = field(repr=False)

    def report(self, language: LanguageCode = "en") -> Report:
        """The report that `gemel project results` writes, in a language: en, de or fr."""
        return linkage_report(self.specification, self.statistics, None, language)

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()


class Client:
    """A coordinator's connection to Carole, as `gemel project` has it.

    Parameters
    ----------
    config : path
        ``coordinator.yaml``.

    Raises
    ------
    GemelError
        CONFIGURATION or CERTIFICATE before anything is sent; UNAVAILABLE; AUDIT if Carole's log does not continue what
        this coordinator has seen of it.

    Notes
    -----
    A context manager: ``with gemel.Client("coordinator.yaml") as client:``. In modes block_keyed and shared
    this process resolves the records while it waits for a run (`wait`).
    """

    def __init__(self, config: Path | str = "coordinator.yaml") -> None:
        self._config = Path(config)
        self._stack = ExitStack()
        self._connected: Coordinator | None = None

    def __enter__(self) -> Self:
        self._connected = self._stack.enter_context(connect(self._config))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connected = None
        self._stack.close()

    @property
    def _coordinator(self) -> Coordinator:
        if self._connected is None:
            raise GemelError(
                ErrorCode.WRONG_STATE, "the client is not connected", where=str(self._config),
                remedy="use it within `with gemel.Client(...) as client:`",
            )  # fmt: skip
        return self._connected

    def projects(self) -> pl.DataFrame:
        """This coordinator's projects: columns ``project``, ``owner``, ``state``, ``run``, ``links``, ``error``."""
        found = [ProjectStatus.of(status) for status in self._coordinator.projects()]
        names = ("project", "owner", "state", "run", "links", "error")
        schema = dict.fromkeys(names, pl.String) | {"links": pl.Int64}
        return pl.DataFrame([[getattr(one, name) for name in names] for one in found], schema=schema, orient="row")

    def status(self, project: str) -> ProjectStatus:
        """Where a project stands."""
        return ProjectStatus.of(self._coordinator.get(project)[0])

    def specification(self, project: str) -> Specification:
        """The specification as Carole has it."""
        return load_specification(self._coordinator.get(project)[1], f"{project} at Carole")

    def create(self, spec: AnySpecification) -> ProjectStatus:
        """Create a project; nothing happens before all parties have approved it.

        Raises
        ------
        GemelError
            NOT_IDENTIFIED for a specification that cannot be estimated; what Carole refuses with.
        """
        found = specification_of(spec)
        refuse_unidentified(found)
        return ProjectStatus.of(self._coordinator.create(_text(spec, found)))

    def approve(self, project: str, spec: AnySpecification) -> ProjectStatus:
        """Sign a project's specification, if it is this one.

        Raises
        ------
        GemelError
            SPECIFICATION if Carole has another.
        """
        status, text = self._coordinator.get(project)
        # Both digests are computed here: neither is taken on trust from the other side.
        there = specification_digest(load_specification(text, f"{project} at Carole"))
        own = specification_digest(specification_of(spec))
        if there != own:
            what = "Carole has another specification than the one to be approved"
            got = f"{there.hex()[:16]} instead of {own.hex()[:16]}"
            remedy = "compare the two: `client.specification(project)`"
            raise GemelError(ErrorCode.SPECIFICATION, what, where=project, got=got, remedy=remedy)
        return ProjectStatus.of(self._coordinator.approve(project, own, status.epoch))

    def start(self, project: str) -> str:
        """Request a run; its name. It goes on at Carole whatever happens here."""
        return str(self._coordinator.start(project).run)

    def wait(self, project: str, state: str | None = None, *, seconds: float = 3600.0) -> ProjectStatus:
        """Wait until the newest run has ended, or until the project is in a state.

        Parameters
        ----------
        state
            As `ProjectStatus.state` has it; None: until the run has ended. In modes block_keyed and shared its
            records are resolved here meanwhile.
        seconds
            Longest wait for a state.

        Raises
        ------
        GemelError
            NOT_FOUND without a run; WRONG_STATE when the run has failed, or the project is blocked; UNAVAILABLE after
            `seconds`.
        """
        if state is None:
            return self._follow(project)
        deadline = time.monotonic() + seconds
        while (found := self.status(project)).state != state:
            if found.error:
                raise GemelError(ErrorCode.WRONG_STATE, found.error, where=project)
            if time.monotonic() > deadline:
                raise GemelError(
                    ErrorCode.UNAVAILABLE, f"the project did not come to the state `{state}`", where=project,
                    got=found.state, remedy="; ".join(found.waits) or "see `client.status(project)`",
                )  # fmt: skip
            time.sleep(POLL_SECONDS)
        return found

    def _follow(self, project: str) -> ProjectStatus:
        run = self._coordinator.get(project)[0].run.run
        if not run:
            raise GemelError(
                ErrorCode.NOT_FOUND, "the project has no run yet", where=project, remedy="client.start(project)"
            )
        resolved = False
        for last in self._coordinator.watch(project, run):
            if last.state == project_pb2.RUN_STATE_RESOLVING and last.stage == RESOLVE and not resolved:
                self._coordinator.resolve(project, run, lambda stage, done: None)
                resolved = True
        found = self.status(project)
        if found.error:
            raise GemelError(ErrorCode.WRONG_STATE, f"the run failed: {found.error}", where=project)
        return found

    def results(self, project: str) -> ReleasedStatistics:
        """What the newest run grants the coordinator; refused before it is released."""
        status, text = self._coordinator.get(project)
        statistics = self._coordinator.statistics(project, status.run.run)
        return ReleasedStatistics(load_specification(text, f"{project} at Carole"), statistics)

    def risk_report(self, project: str, language: LanguageCode = "en") -> Report:
        """The report on the newest run's disclosure risk, which the steward judges by.

        Raises
        ------
        GemelError
            NOT_FOUND if the run was not assessed.
        """
        try:
            from gemel.coordinator.reports.disclosure import render_risk_report
        except ModuleNotFoundError as error:
            raise missing_module(error) from None
        run = self._coordinator.get(project)[0].run.run
        document = self._coordinator.report(project, run).document
        return Report(f"Disclosure risk of {project}", render_risk_report(document, language=language))


def _text(spec: AnySpecification, found: Specification) -> str:
    if isinstance(spec, Draft):
        return spec.text
    if isinstance(spec, str) and "\n" in spec:
        return spec
    if isinstance(spec, str | Path):
        return Path(spec).read_text(encoding="utf-8")
    return dump_specification(found)
