"""Payloads: encrypted chunks as blobs, in a folder or in an object store, their keys and digests, and their readers."""
