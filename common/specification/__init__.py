"""The specification of a linkage, `linkage.yaml`: what is compared, how, and who receives what.

`load_specification` reads one and reports everything that is wrong with it at once; `Specification` is the immutable
result; `encoding_digest` and `specification_digest` name it; `specification_notes` lists what those who approve it
should know.

Four packages, each above the next: `text` (read, digests, lines), `notes`, `validation` (checks
across values, and `Specification`, which is content that was found consistent), `model` (the sections).
"""

from gemel.common.specification.model.blocking import BlockingRule
from gemel.common.specification.model.content import Custodian, Custodians, LinkSpec, ModelSpec, ReleaseSpec, Retention
from gemel.common.specification.model.defaults import KINDS, LEVELS, STEPS
from gemel.common.specification.model.fields import Columns, DateFormat, FieldSpec
from gemel.common.specification.model.latent import LatentSpec
from gemel.common.specification.model.leakage import LeakageSpec
from gemel.common.specification.model.resolution import Requested, ResolutionSpec
from gemel.common.specification.model.section import BlockingKey
from gemel.common.specification.model.variables import CommonCategory, Span, VariableSpec
from gemel.common.specification.notes.disclosure import specification_notes
from gemel.common.specification.text.digest import canonical_json, encoding_digest, specification_digest
from gemel.common.specification.text.reading import load_specification, read_specification
from gemel.common.specification.validation.specification import Specification

__all__ = [
    "KINDS", "LEVELS", "STEPS", "BlockingKey", "BlockingRule", "Columns", "CommonCategory", "Custodian", "Custodians",
    "DateFormat", "FieldSpec", "LatentSpec", "LeakageSpec", "LinkSpec", "ModelSpec", "ReleaseSpec", "Requested",
    "ResolutionSpec", "Retention", "Span", "Specification", "VariableSpec", "canonical_json",
    "encoding_digest", "load_specification", "read_specification", "specification_digest",
    "specification_notes",
]  # fmt: skip
