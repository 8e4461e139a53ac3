"""A first specification proposed from two files: their shared columns, compared fields and blocking rules.

`specification_text` writes any specification as text, and the JSON Schema of all.
"""
