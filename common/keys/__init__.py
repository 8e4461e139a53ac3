"""Keys: what follows from the custodians' shared seed, the parties' identities, sealing and encryption at rest.

- `derivation`: every key of a project from the one seed; `check`: key-check value and canary digest, before any upload.
- `identity`, `identity_configuration`: Ed25519 identities, what they sign for, and where the private key is.
- `noise`: the key of a custodian's randomised response, its own alone.
- `sealing`, `sealing_key`: bytes that only one recipient can open.
- `vault`, `key_wrapper`: encryption at rest, and erasure by destroying a key.
- `suite`: which suites of algorithms there are; `bulk`: the pseudo-random function of either, for many blocks.
"""
