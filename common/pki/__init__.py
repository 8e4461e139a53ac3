"""Certificates and membership.

- `authority`: a private certificate authority; `certificates`, `checks`: what a certificate says, and checking it.
- `certified_names`: certificates of an organisation's own PKI, known by their names.
- `members`, `member_entries`, `admission`: ``members.yaml``, and the identification of callers.
- `folders`: the files of a party.
- `enrolment_requests`, `enrolment`, `acceptance`: how an organisation becomes a member with keys it never sends away.
- `sealing_suites`: which sealing keys a specification takes.
"""

from gemel.common.pki.acceptance import checked
from gemel.common.pki.admission import Admission
from gemel.common.pki.authority import Authority
from gemel.common.pki.certificates import Names, Validity, server_name
from gemel.common.pki.enrolment import assemble, certify, enrol
from gemel.common.pki.enrolment_requests import EnrolmentRequest
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.members import Member, Members

__all__ = [
    "Admission", "Authority", "EnrolmentRequest", "Member", "Members", "Names", "PartyFolder", "Validity", "assemble",
    "certify", "checked", "enrol", "server_name",
]  # fmt: skip
