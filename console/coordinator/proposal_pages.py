"""The pages on which a coordinator proposes a specification: for a new project, or in the place of a project's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.language import gettext
from gemel.common.specification import load_specification
from gemel.console.coordinator.acts import Act
from gemel.console.coordinator.coordinator_pages import PROJECT, ProjectPages, page_of, project_name
from gemel.console.web.forms import Form, done, form_page, posting
from gemel.console.web.pages import error_list
from gemel.console.web.specification_words import specification_shown
from gemel.protos.linkage.v1 import project_pb2

PROPOSE = "propose"
"""What the button requests that does more than check."""


class ProposalPages(ProjectPages):
    def routes(self) -> list[BaseRoute]:
        return [
            form_page("/new", self.blank),
            posting("/new", self.create),
            form_page(f"{PROJECT}/amend", self.present),
            posting(f"{PROJECT}/amend", self.amend),
        ]

    def blank(self, request: Request) -> Response:
        return self._form(request, "")

    def create(self, request: Request, form: Form) -> Response:
        message = gettext("The project is created. Nothing happens before all have approved it: you too.")
        return self._proposed(request, form, "", lambda text: self._member.coordinator().create(text), message)

    def present(self, request: Request) -> Response:
        status, text = self._status(request, Act.AMEND)
        return self._form(request, text, project=status.project)

    def amend(self, request: Request, form: Form) -> Response:
        message = gettext("The amended specification is proposed. All approve it again, you too.")
        return self._proposed(
            request, form, project_name(request), lambda text: self._member.coordinator().amend(text), message
        )

    def _proposed(
        self,
        request: Request,
        form: Form,
        project: str,
        propose: Callable[[str], project_pb2.ProjectStatus],
        message: str,
    ) -> Response:
        """The form again with what a specification means or what is wrong with it; or, once it is proposed, its
        project. What Carole refuses is shown by the form too, which has the text still."""
        # Of its file if one was chosen, else what was typed in.
        text, tried = form.get("file") or form.get("text", ""), form.get("do") == PROPOSE
        found, errors = _checked(text, project)
        if tried and not errors:
            try:
                return done(request, page_of(propose(text).project), message)
            except GemelError as error:
                found, errors = None, error_list(error)
        return self._form(request, text, project=project, specification=found, errors=errors, tried=tried)

    def _form(
        self,
        request: Request,
        text: str,
        *,
        project: str = "",
        specification: dict[str, Any] | None = None,
        errors: list[GemelError] | None = None,
        tried: bool = False,
    ) -> Response:
        status = 422 if tried and errors else 200
        shown = {"project": project, "text": text, "specification": specification, "errors": errors or []}
        return self._pages.page("propose.html.j2", request, status, **shown)


def _checked(text: str, project: str) -> tuple[dict[str, Any] | None, list[GemelError]]:
    """What a specification means, or all that is wrong with it, by place; `project`: whose it must be, if any's."""
    from gemel.carole.engine.run.specified import refuse_unidentified

    try:
        spec = load_specification(text, "the specification")
        refuse_unidentified(spec)
    except GemelError as error:
        return None, error_list(error)
    if project and spec.project != project:
        wrong = GemelError(
            ErrorCode.SPECIFICATION,
            "an amended specification is of the same project",
            where="project",
            got=spec.project,
            remedy=f"write `project: {project}`, or create another project",
        )
        return None, [wrong]
    return specification_shown(spec, text), []
