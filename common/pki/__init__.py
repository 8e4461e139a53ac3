"""Certificates, membership and the making of parties.

- `authority`, `certificate_requests`: a private certificate authority, and what is sent to it.
- `certificates`, `checks`: what a certificate holds, how it is read, and whether it is good.
- `members`, `admission`: ``members.yaml``, and who a caller is.
- `folders`: the files of a party.
- `enrolment_requests`, `enrolment`: how an organisation becomes a member with keys it never sends away.
- `provision`: all parties at once, on one machine.
"""

from tryst.common.pki.admission import Admission
from tryst.common.pki.authority import Authority
from tryst.common.pki.certificates import Names, Validity, server_name
from tryst.common.pki.enrolment import accept, assemble, certify, enrol
from tryst.common.pki.enrolment_requests import EnrolmentRequest
from tryst.common.pki.folders import PartyFolder
from tryst.common.pki.members import Member, Members
from tryst.common.pki.provisioning import PARTIES, Provisioned, provision

__all__ = [
    "PARTIES",
    "Admission",
    "Authority",
    "EnrolmentRequest",
    "Member",
    "Members",
    "Names",
    "PartyFolder",
    "Provisioned",
    "Validity",
    "accept",
    "assemble",
    "certify",
    "enrol",
    "provision",
    "server_name",
]
