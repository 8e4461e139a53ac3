"""The service that Alice and Bob both are, and the commands of its operator. It only calls out.

`commands` is what the operator types, `service` what it starts, and `agent` its loop: get the next task from Carole and
do it. Below them are four rooms: `operator` answers the custodian's own operator on a loopback address, `steps` has a
module for each task, `state` keeps everything through a crash, `source` reads and cleans the records. A room imports
those below it only; `source` and `state` know nothing of each other. Everything in which Alice differs from Bob is her
`Party`.
"""
