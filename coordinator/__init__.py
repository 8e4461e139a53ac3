"""The linkage coordinator's and the steward's programs: they drive a linkage, decide on it, and reach Carole by RPC."""
