"""Keys: the custodians' shared seed, the parties' identities, sealing and encryption at rest.

- `derivation`: every key of a project from the one seed.
- `agreement`, `agreement_messages`, `transcript`: how the custodians agree on the seed through Carole; `seed_file`: or
  by hand. `encapsulation` and `ephemeral` are its two halves.
- `check`: key-check value and canary digest, before any upload.
- `identity`, `signing_purpose`, `fingerprint`: Ed25519 identities, the purposes they sign for, and their fingerprints;
  `identity_configuration`: where the private key is.
- `noise`: the key of a custodian's randomised response, its own alone.
- `sealing`, `content_key`, `sealing_key`: bytes that only one recipient can open.
- `vault`, `wrapping`: encryption at rest, and erasure by destroying a key.
- `bulk`: the pseudo-random function of either suite, for many blocks; `installation`: whether a suite can be had.
- `framing`, `private_files`: used by the others.
"""

from gemel.common.keys.agreement import Agreement
from gemel.common.keys.agreement_messages import Terms
from gemel.common.keys.check import CANARY_RECORDS, canary_digest, key_check_value
from gemel.common.keys.derivation import FieldKeys, Purpose, Seed, derive, derive_key
from gemel.common.keys.identity import Identity, PublicIdentity
from gemel.common.keys.noise import NoiseKey
from gemel.common.keys.sealing import SealContext, open_sealed, seal
from gemel.common.keys.sealing_key import SealingKey, SealingPublicKey
from gemel.common.keys.seed_file import load_seed_file, new_seed_file
from gemel.common.keys.vault import DataKey, Vault
from gemel.common.keys.wrapping import WrappingKeys

__all__ = [
    "CANARY_RECORDS",
    "Agreement",
    "DataKey",
    "FieldKeys",
    "Identity",
    "NoiseKey",
    "PublicIdentity",
    "Purpose",
    "SealContext",
    "SealingKey",
    "SealingPublicKey",
    "Seed",
    "Terms",
    "Vault",
    "WrappingKeys",
    "canary_digest",
    "derive",
    "derive_key",
    "key_check_value",
    "load_seed_file",
    "new_seed_file",
    "open_sealed",
    "seal",
]
