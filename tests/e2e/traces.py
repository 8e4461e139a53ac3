"""Looking for planted values: in every file of a folder, in every form in which a program may have written them."""

from __future__ import annotations

import base64
import gzip
import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key

PLANTED: dict[str, tuple[str, ...]] = {
    "given_name": ("Wilhelmquaxa", "Xochiquetzal", "Bartholomäusz"),
    "surname": ("Vandermurtzelbeek", "Quyyumova-Zandt", "Tlahuicole"),
    "sex": ("Zqfemalezq", "Zqmalezq", "Zqotherzq"),
    "date_of_birth": ("1903-02-17", "1904-11-23", "1907-08-29"),
    "house_number": ("Qz90417", "Qz90533", "Qz90671"),
    "street": ("Quibblestone Terrace", "Yggdrasil Promenade", "Umlautgäßchen"),
    "town": ("Zorblattville", "Kjøbmanderup", "Wexcombe Magna Zz"),
    "postcode": ("ZQ97431", "ZQ97557", "ZQ97673"),
    "phone": ("09988776651", "09988776657", "09988776663"),
}
"""Three people whose every value occurs nowhere else; town and house number are in no specification."""

IDENTIFIERS = {
    "alice": ("QZALICE-77341-A", "QZALICE-77357-A", "QZALICE-77369-A"),
    "bob": ("QZBOB-88423-B", "QZBOB-88437-B", "QZBOB-88459-B"),
}


def planted_people(identifiers: tuple[str, ...], identifier: str, truth: str) -> pl.DataFrame:
    numbers = {identifier: identifiers, truth: tuple(f"PLANTED{n}" for n in range(len(identifiers)))}
    return pl.DataFrame({name: list(values) for name, values in {**numbers, **PLANTED}.items()})


def forms_of_text(value: str) -> set[bytes]:
    """A text as it is, as it is cleaned, and in other encodings."""
    texts = {value, value.lower(), value.upper(), re.sub(r"\W", "", value.lower())}
    if re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        year, month, day = value.split("-")
        texts |= {f"{year}{month}{day}", f"{day}/{month}/{year}", f"{day}.{month}.{year}"}
    found: set[bytes] = set()
    for text in texts:
        for encoding in ("utf-8", "utf-16-le"):
            found.add(text.encode(encoding))
        found |= {text.encode().hex().encode(), *_base64(text.encode())}
        found.add(text.encode("unicode_escape"))
    return found


def forms_of_secret(value: bytes) -> set[bytes]:
    """A key as bytes, digits, base 64 and as Python shows bytes."""
    return {value, value.hex().encode(), value.hex().upper().encode(), *_base64(value), repr(value)[2:-1].encode()}


def _private_value(pem: bytes) -> bytes:
    key = load_pem_private_key(pem, None)
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return key.private_numbers().private_value.to_bytes(32, "big")
    return key.private_bytes_raw()  # type: ignore[union-attr]


def private_values(key_file: Path) -> list[bytes]:
    """The secret numbers in a key file of a party."""
    text = key_file.read_bytes()
    if b"PRIVATE KEY" in text:
        blocks = re.findall(rb"-----BEGIN [^-]*-----.*?-----END [^-]*-----\n", text, re.DOTALL)
        return [_private_value(block) for block in blocks]
    return [bytes.fromhex(digits) for digits in re.findall(r"\b[0-9a-f]{64}\b", text.decode())]


def occurrences(root: Path, needles: Mapping[str, set[bytes]]) -> dict[str, set[Path]]:
    """In which files, relative to `root`, each needle occurs in one of its forms."""
    found: dict[str, set[Path]] = {name: set() for name in needles}
    for path in files(root):
        content = _content(path)
        for name, forms in needles.items():
            if any(form in content for form in forms):
                found[name].add(path.relative_to(root))
    return found


def files(root: Path) -> Iterator[Path]:
    return (path for path in sorted(root.rglob("*")) if path.is_file() and not path.is_symlink())


def _content(path: Path) -> bytes:
    """A file's bytes, and besides what a packed file holds unpacked."""
    raw = path.read_bytes()
    if raw.startswith(b"PAR1"):
        return raw + pl.read_parquet(io.BytesIO(raw)).write_csv().encode()
    if raw.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            return raw + b"".join(archive.read(name) for name in archive.namelist())
    if raw.startswith(b"\x1f\x8b"):
        return raw + gzip.decompress(raw)
    return raw


def _base64(value: bytes) -> set[bytes]:
    """What of a value stands in base 64 of a longer text, whatever stands before and after it."""
    found = set()
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + value).rstrip(b"=")
        # The first and last digits depend on the neighbours.
        inner = encoded[-(-before * 8 // 6) + (before > 0) : -1 if (before + len(value)) % 3 else None]
        if len(inner) >= 8:
            found |= {inner, inner.replace(b"+", b"-").replace(b"/", b"_")}
    return found
