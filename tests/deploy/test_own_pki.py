"""docs/certificates.md's example of organisations with a PKI of their own, carried out: its commands, in its order."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

import pytest
import yaml

from gemel.common.parties import Role
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.members import Members
from gemel.common.rpc.tls import TlsFiles
from tests.common.pki.own_pki import OwnPki
from tests.deploy.documents import blocks, lines, sections
from tests.deploy.procedure import Procedure
from tests.deploy.sites import PARTIES, REPOSITORY
from tests.deploy.test_certificates import admitted

SECTION = sections(REPOSITORY / "docs/certificates.md")["Certificates of an organisation's own PKI"]
OWN = ("carole", "alice")


class OwnProcedure(Procedure):
    """The procedure of deploy/README.md, with the lines of this section where it has them."""

    def all(self, step: str) -> None:
        for words in self._steps[step]:
            if not any(name in OWN for name in (*words, *(Path(word).stem for word in words))):
                self.gemel(words)
        for words in lines(SECTION):
            if words[:3] == ["gemel", "party", step]:
                self.gemel(words[1:])


@pytest.fixture
def procedure(tmp_path: Path) -> Procedure:
    procedure = OwnProcedure(tmp_path / "machines", tmp_path / "coordinator")
    procedure.context.mkdir()
    for name, pki in pkis().items():
        (procedure.context / f"{name}-root.pem").write_bytes(pki.root_pem)
    procedure.enrol()
    (procedure.context / "certificates").mkdir()
    procedure.all("authority")
    procedure.all("certify")
    procedure.all("assemble")
    for name in ("members.yaml", "authorities.pem"):
        shutil.copy(procedure.context / "list" / name, procedure.context / name)
    for path in (procedure.context / "certificates").iterdir():
        shutil.copy(path, procedure.context)
    procedure.all("accept")
    return procedure


@cache
def pkis() -> dict[str, OwnPki]:
    return {name: OwnPki(name) for name in ("unit", "hospital")}


def test_both_are_members_by_the_names_in_the_example(procedure: Procedure) -> None:
    certificate = next(yaml.safe_load(block) for block in blocks(SECTION) if "cert-manager" in block)["spec"]
    assert certificate["privateKey"]["algorithm"] == "ECDSA"
    assert (certificate["privateKey"]["size"], certificate["usages"][1:]) == (256, ["client auth", "server auth"])
    members = Members.load(PartyFolder(procedure.keys("carole")).members)
    alice = members.named("alice").certificate
    assert f"-spiffeID {alice.spiffe} -dns\n{alice.dns}" in SECTION
    helper = dict(line.split(" = ") for block in blocks(SECTION) if "cert_dir" in block for line in block.splitlines())
    assert (helper["svid_file_name"], helper["svid_key_file_name"]) == ('"certificate.pem"', '"tls.key"')
    for _ in range(2):
        pkis()["unit"].renew(procedure.keys("carole"), dns=certificate["dnsNames"])
        pkis()["hospital"].renew(procedure.keys("alice"), dns=[alice.dns], uris=[alice.spiffe])
        TlsFiles.load(procedure.keys("carole"), Role.LINKER)
        TlsFiles.load(procedure.keys("alice"), Role.CUSTODIAN_A)
        assert all(admitted(procedure, party) for party in PARTIES)
    assert members.in_role(Role.LINKER).server_name == certificate["dnsNames"][0]
