"""The resolver of mode block_keyed: it learns which rows are one record, and sees no signature and no value."""
