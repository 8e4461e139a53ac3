"""The service that Alice and Bob both are, and the commands of its operator.

It only calls out. `agent` asks Carole for the next task and does it: `approval` (read the source, show its profile,
sign), `agreement` (the seed), `contribution` (clean, sign, shuffle, upload) and `results` (fetch, unseal, join).
`state` remembers all of it through a crash, `operator` answers the custodian's own operator on a loopback address,
and `commands` is what that operator types. Everything in which Alice differs from Bob is her `Party`.
"""
