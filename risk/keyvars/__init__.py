"""Key variable mapping: on what, and how finely, sets of data can be matched that code the same things differently.

partitions, analysis: the mathematics, of numbered leaves without names.
aggregation, intervals: which categories make up which; variables: a variable with the categorisations seen of
it. environment: forms, variables and groups, and every question about them. documents, folder: its JSON files.
codebook: forms from CSV. linkage: two forms' categories brought to the finest common ones, and put into a
specification. pictures: graphs and curves, drawn.
"""
