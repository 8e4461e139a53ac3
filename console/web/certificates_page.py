"""The page of certificates: when a member's own and Carole's authority's end, and which of others end soon."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.requests import Request
from starlette.responses import Response

from gemel.common.language import gettext, marked
from gemel.common.pki.certificates import load_certificate, read_certificates, read_public
from gemel.common.pki.checks import utc_now
from gemel.common.pki.ending import Urgency, urgency
from gemel.common.pki.folders import PartyFolder
from gemel.common.rpc.certificate_endings import ending_lines
from gemel.console.web.pages import Pages
from gemel.protos.linkage.v1 import project_pb2

_WORDS = {
    Urgency.NONE: "",
    Urgency.SOON: marked("ends soon: have it renewed"),
    Urgency.URGENT: marked("have it renewed now"),
}


def certificates_page(
    pages: Pages,
    request: Request,
    folder: PartyFolder,
    name: str,
    reported: Iterable[project_pb2.EndingCertificate],
) -> Response:
    """When certificates end: the member's own to the day, others' as far as Carole has named them.

    Parameters
    ----------
    folder
        The member's keys.
    name
        The member's own, in the membership list.
    reported
        What Carole has named last.
    """
    own = load_certificate(folder.certificate)
    chain = [(gettext("Your certificate"), own)]
    chain += [
        (gettext("An authority of Carole's certificate"), each)
        for each in read_certificates(read_public(folder.linker, "Carole's authority"), str(folder.linker))
    ]
    now = utc_now()
    rows = [
        {
            "whose": whose,
            "ends": f"{each.not_valid_after_utc:%Y-%m-%d %H:%M} UTC",
            "words": gettext(_WORDS[urgency(each, now)]),
            "days": (each.not_valid_after_utc - now).days,
        }
        for whose, each in chain
    ]
    return pages.page(
        "certificates.html.j2",
        request,
        rows=rows,
        others=list(ending_lines(reported, without=name)),
    )
