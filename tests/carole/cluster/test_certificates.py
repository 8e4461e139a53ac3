"""Certificates of a cluster: made once, added to, and of an authority that is nothing else's."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography import x509

from gemel.carole.cluster.tls import make_certificates
from gemel.common.errors import ErrorCode
from gemel.common.pki.certificates import load_certificate
from tests.carole.refusals import refusal


def test_certificates_are_made_once_and_more_can_be_added(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    assert make_certificates(folder, ("carole", "scheduler")) == ["carole", "scheduler"]
    before = {path: path.read_bytes() for path in folder.rglob("*.*")}
    assert make_certificates(folder, ("carole", "scheduler", "w-1.example.org")) == ["w-1.example.org"]
    assert {path: path.read_bytes() for path in before} == before
    authority = load_certificate(folder / "authority" / "authority.pem")
    for name in ("carole", "scheduler", "w-1.example.org"):
        own = folder / name
        assert {path.name for path in own.iterdir()} == {"ca.pem", "certificate.pem", "key.pem"}
        assert own.stat().st_mode & 0o077 == 0
        assert (own / "key.pem").stat().st_mode & 0o777 == 0o600
        certificate = load_certificate(own / "certificate.pem")
        certificate.verify_directly_issued_by(authority)
        # No party of a project: such a certificate has no role.
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert names.get_values_for_type(x509.UniformResourceIdentifier) == []
        assert names.get_values_for_type(x509.DNSName) == [name]


@pytest.mark.parametrize("name", ["", "../out", "a/b", ".hidden", "authority", "x" * 65])
def test_a_name_is_no_path(tmp_path: Path, name: str) -> None:
    with refusal(ErrorCode.PARAMETER):
        make_certificates(tmp_path / "cluster", (name,))
    assert [path.name for path in (tmp_path / "cluster").iterdir()] == ["authority"]
