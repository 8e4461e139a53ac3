"""What every party needs: specification, cleaning, tokens, keys, signatures, wire, RPC, and the custodian service.

Imports `protos` and nothing above it; `carole`, `alice` and `bob` import this and never each other.
"""
