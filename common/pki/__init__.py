"""Certificates, membership and the making of parties.

- `authority`: a private certificate authority and the requests sent to it.
- `certificates`: what a certificate holds and how it is read.
- `members`: ``members.yaml``, and who a caller is.
- `folders`: the files of a party.
- `enrolment`: how an organisation becomes a member with keys it never sends away.
- `provision`: all parties at once, on one machine.
"""

from common.pki.authority import REHEARSAL_LIFETIME, Authority
from common.pki.certificates import Names, Validity, server_name
from common.pki.enrolment import Card, accept, assemble, certify, enrol
from common.pki.folders import PartyFolder
from common.pki.members import Admission, Member, Members, admit
from common.pki.provision import PARTIES, Provisioned, provision

__all__ = [
    "PARTIES",
    "REHEARSAL_LIFETIME",
    "Admission",
    "Authority",
    "Card",
    "Member",
    "Members",
    "Names",
    "PartyFolder",
    "Provisioned",
    "Validity",
    "accept",
    "admit",
    "assemble",
    "certify",
    "enrol",
    "provision",
    "server_name",
]
