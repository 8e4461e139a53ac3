"""What a custodian sends: signature sets, their bytes, and how cleaned records become them.

`contribution` is the data, `layout` its sizes and their bounds, `payload` its canonical bytes. `encode` makes one set
from cleaned columns, `blocks` a set for every rule, both by `signing`; `blocking_keys` makes the keyed digests that
decide which pairs are compared at all, and `categories` relabels the category variables.
"""

from tryst.common.encoding.layout import FieldLayout, Layout, SetLayout, VariableLayout
from tryst.common.encoding.payload import from_bytes, to_bytes
from tryst.common.encoding.signature_sets import (
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
