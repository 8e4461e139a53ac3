"""The pairs of a run: which are compared, their comparison vectors counted and kept, in two passes, part by part."""
