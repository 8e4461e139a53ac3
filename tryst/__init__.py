"""Tryst: privacy-preserving probabilistic record linkage for three parties.

The rooms of the house lie at the top of the repository; here they are links, so that everything is imported, and
installed, under the one name `tryst`: no `common` or `risk` of ours can collide with another package's.
"""
