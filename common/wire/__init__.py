"""Conversion between internal data and wire messages: manifests, sides, chunks, checkpoints, row handles."""
