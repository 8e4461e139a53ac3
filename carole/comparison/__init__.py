"""Comparison of signatures: agreeing bits, the Jaccard estimate, and similarity levels.

`kernels` counts agreeing bits with compiled code, `levels` compares whole fields: all pairs of distinct signatures as
a table, chosen pairs one by one, and the distribution of levels over all pairs of two files. Numbers only: nothing
here reads or writes.
"""
