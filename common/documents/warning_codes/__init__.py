"""The registry of warning codes, with which results warn.

A new warning is an entry of one of the modules, by subject, and a call of
`gemel.common.documents.result_warning.result_warning` with its figures. The tables in docs/documents.md are made from
here.
"""

from gemel.common.documents.warning_codes.disclosure import COMBINED_OUTPUT, IDENTIFICATION
from gemel.common.documents.warning_codes.estimation import CONTRIBUTION, ESTIMATION, LEAKAGE
from gemel.common.documents.warning_codes.warning_code import CANDIDATES, SEVERITIES, VALUES, Severity, WarningCode

BY_SUBJECT: dict[str, tuple[WarningCode, ...]] = {
    "A custodian's file, read and cleaned": CONTRIBUTION,
    "What Carole could learn of a file": LEAKAGE,
    "The fitted model": ESTIMATION,
    "Files, blocking and pairs": CANDIDATES,
    "The extended latent step, and intruders who link": VALUES,
    "Disclosure risk of a combined output": COMBINED_OUTPUT,
    "Identification risk: keys and models": IDENTIFICATION,
}
"""The codes by subject, in the order of the manual."""

WARNING_CODES: dict[str, WarningCode] = {entry.code: entry for entries in BY_SUBJECT.values() for entry in entries}
__all__ = ["BY_SUBJECT", "CONTRIBUTION", "LEAKAGE", "SEVERITIES", "WARNING_CODES", "Severity", "WarningCode"]
