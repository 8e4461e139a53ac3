"""Files of records, read by their kind: CSV, Parquet, Stata, SPSS and SAS; all `tryst risk` commands read by these."""

from tryst.risk.records.registry import Labelled, Values, chosen_values, is_text, labelled, read_records

__all__ = ["Labelled", "Values", "chosen_values", "is_text", "labelled", "read_records"]
