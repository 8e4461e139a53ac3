"""What every party needs: the specification, documents, keys, signatures, the wire, remote calls, the log's proofs.

Imports `protos` and nothing above it; `carole`, `alice` and `bob` import this and never each other.
"""
