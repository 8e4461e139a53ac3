"""Keys: what follows from the custodians' shared seed, the parties' identities, sealing and encryption at rest.

- `derivation`: every key of a project from the one seed.
- `check`: key-check value and canary digest, before any upload.
- `identity`, `signing_purpose`, `fingerprint`: Ed25519 identities, the purposes they sign for, and their fingerprints;
  `identity_configuration`: where the private key is.
- `noise`: the key of a custodian's randomised response, its own alone.
- `sealing`, `content_key`, `sealing_key`: bytes that only one recipient can open.
- `vault`, `wrapping`: encryption at rest, and erasure by destroying a key.
- `suite`, `installation`: which suites there are, and whether one can be had; `bulk`: the pseudo-random function of
  either suite, for many blocks.
- `framing`, `private_files`: used by the others.
"""
