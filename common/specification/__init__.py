"""The specification of a linkage, `linkage.yaml`: what is compared, how, and who receives what.

`load_specification` reads one and reports every mistake at once; `Specification` is the immutable result;
`encoding_digest` and `specification_digest` name it; `dump_specification` writes one for people; `notes` says what
those who approve it should know; `json_schema` helps editors.
"""

from tryst.common.specification.approval_notes import notes
from tryst.common.specification.blocking import BlockingRule
from tryst.common.specification.categorisation import CommonCategory, Span
from tryst.common.specification.defaults import KINDS, LEVELS, STEPS
from tryst.common.specification.digest import canonical_json, encoding_digest, specification_digest
from tryst.common.specification.dump import dump_specification
from tryst.common.specification.fields import Columns, DateFormat, FieldSpec
from tryst.common.specification.latent import LatentSpec
from tryst.common.specification.leakage import LeakageSpec
from tryst.common.specification.load import load_specification, read_specification
from tryst.common.specification.model import (
    Custodian,
    Custodians,
    LinkSpec,
    ModelSpec,
    ReleaseSpec,
    Retention,
    Specification,
)
from tryst.common.specification.parts import BlockingKey
from tryst.common.specification.resolution import ResolutionSpec
from tryst.common.specification.schema import json_schema
from tryst.common.specification.variables import VariableSpec

__all__ = [
    "KINDS",
    "LEVELS",
    "STEPS",
    "BlockingKey",
    "BlockingRule",
    "Columns",
    "CommonCategory",
    "Custodian",
    "Custodians",
    "DateFormat",
    "FieldSpec",
    "LatentSpec",
    "LeakageSpec",
    "LinkSpec",
    "ModelSpec",
    "ReleaseSpec",
    "ResolutionSpec",
    "Retention",
    "Span",
    "Specification",
    "VariableSpec",
    "canonical_json",
    "dump_specification",
    "encoding_digest",
    "json_schema",
    "load_specification",
    "notes",
    "read_specification",
    "specification_digest",
]
