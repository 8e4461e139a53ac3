"""A custodian's contribution as it is sent: signature sets, their sizes and their bytes.

`signature_sets` is the data, `layout` its sizes and their bounds, `payload` its canonical bytes. A custodian makes them
(`custodian.encoding`), Carole reads them.
"""

from gemel.common.signatures.layout import FieldLayout, Layout, SetLayout, VariableLayout
from gemel.common.signatures.payload import from_bytes, to_bytes
from gemel.common.signatures.signature_sets import (
    MISSING,
    NO_KEY,
    FieldSignatures,
    SignatureSet,
    VariableCodes,
    layout_of,
)

__all__ = [
    "MISSING",
    "NO_KEY",
    "FieldLayout",
    "FieldSignatures",
    "Layout",
    "SetLayout",
    "SignatureSet",
    "VariableCodes",
    "VariableLayout",
    "from_bytes",
    "layout_of",
    "to_bytes",
]
