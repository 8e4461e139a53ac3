"""The second half of a run by a resolver, who learns which rows are one record: request, handles, shares, checks."""
