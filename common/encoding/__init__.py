"""What a custodian sends: signature sets, their bytes, and how cleaned records become them.

`contribution` is the data and its canonical byte layout, `encode` makes it from cleaned columns, and
`blocking_keys` makes the keyed digests that decide which pairs are compared at all. `categories` relabels the category
variables.
"""

from common.encoding.contribution import (
    MISSING,
    NO_KEY,
    FieldLayout,
    FieldSignatures,
    Layout,
    SetLayout,
    SignatureSet,
    VariableCodes,
    VariableLayout,
    from_bytes,
    layout_of,
    to_bytes,
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
