"""A custodian's contribution: signature sets, their bytes, and their making from cleaned records.

`signature_sets` is the data, `layout` its sizes and their bounds, `payload` its canonical bytes. `records` makes the
sets from cleaned columns, with `blocks` for a set per rule, both by `signing`; `blocking_keys` makes the keyed digests
that decide which pairs are compared at all, and `categories` relabels the category variables.
"""

from gemel.common.encoding.layout import FieldLayout, Layout, SetLayout, VariableLayout
from gemel.common.encoding.payload import from_bytes, to_bytes
from gemel.common.encoding.signature_sets import (
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
