"""The service that Alice and Bob both are, and the commands of its operator. It only calls out.

`commands` is what the operator types, `service` what it starts, and `agent` its loop: get the next task from Carole and
do it. Below them are four packages: `operator` serves the custodian's own operator on a loopback address, `steps` has a
module for each task, `state` survives crashes, `source` reads and cleans the records. A package imports only those
below it; `source` and `state` do not import each other. Everything in which Alice differs from Bob is her
`Party`.
"""
