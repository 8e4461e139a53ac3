"""The coordinator's and the steward's side of the wire, and what their terminals show."""
