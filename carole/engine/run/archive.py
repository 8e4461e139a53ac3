"""Arrays by name and a document as bytes, between the parties of a resolution.

An uncompressed zip archive of NumPy arrays, which hold numbers only; its reader checks everything in it.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError

MAX_DOCUMENT_BYTES = 64 << 20

Arrays = dict[str, NDArray[Any]]


def packed(arrays: Mapping[str, NDArray[Any]], document: Mapping[str, Any]) -> bytes:
    """Arrays and a document as the bytes of an archive."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            part = io.BytesIO()
            np.lib.format.write_array(part, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(f"{name}.npy", part.getvalue())
        archive.writestr("document.json", json.dumps(document, allow_nan=False))
    return content.getvalue()


def unpacked(content: bytes | memoryview) -> tuple[Arrays, dict[str, Any]]:
    """The arrays and document of an archive from another party; UPLOAD_CORRUPT if it is no such archive."""
    arrays: Arrays = {}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            # Stored, not compressed: then no part is longer than the bytes received.
            if any(entry.compress_type != zipfile.ZIP_STORED or entry.file_size > len(content) for entry in entries):
                raise malformed("a compressed part")
            if archive.getinfo("document.json").file_size > MAX_DOCUMENT_BYTES:
                raise malformed(f"a document of more than {MAX_DOCUMENT_BYTES} bytes")
            document = json.loads(archive.read("document.json"))
            for entry in entries:
                if entry.filename.endswith(".npy"):
                    part = io.BytesIO(archive.read(entry))
                    arrays[entry.filename.removesuffix(".npy")] = np.lib.format.read_array(part, allow_pickle=False)
    except (zipfile.BadZipFile, KeyError, ValueError, RecursionError, NotImplementedError, RuntimeError, EOFError):
        raise malformed("a damaged archive") from None
    if not isinstance(document, dict):
        raise malformed("a document that is not an object")
    return arrays, document


def array_of(arrays: Arrays, name: str, kind: type[np.generic], shape: tuple[int | None, ...]) -> NDArray[Any]:
    """The array of a name; UPLOAD_CORRUPT if it is not of this kind and shape (None: any length)."""
    array = arrays.get(name)
    if array is None or array.dtype != np.dtype(kind) or array.ndim != len(shape):
        raise malformed(f"no {name} of the right kind")
    if any(selected not in (None, there) for selected, there in zip(shape, array.shape, strict=True)):
        raise malformed(f"{name} of another shape")
    return array


def malformed(got: str, what: str = "an artifact of the resolution does not have the agreed format") -> GemelError:
    """The error (UPLOAD_CORRUPT) for an invalid artifact of another party of a resolution."""
    return GemelError(
        ErrorCode.UPLOAD_CORRUPT,
        what,
        where="resolution",
        got=got,
        remedy="run the same version of Gemel at all parties; if they do, start another run",
    )
