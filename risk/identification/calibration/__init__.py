"""Calibrated risk of single records: what a record's neighbourhood means is read off the file itself."""
