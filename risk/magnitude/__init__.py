"""Magnitude tables: sums of a value over cells, and what they disclose of those who contribute to them.

`LinkedTables` are the cells of one or more tables with totals and hierarchies, `contributions` who stands behind each,
`primary_cells` the risky ones by primary rules, `suppress` the choice of other cells to withhold, `exact_bounds` and
`breaches` the audit, `assess` everything in one document. Numbers only, but for `reader` and the command.
"""
