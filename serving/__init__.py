"""What a service is made of, Carole's as each custodian's.

That is the server that answers calls, the record of them, metrics and probes, the checks of an installation, and the
steps of a database's schema.

A call arrives at `dispatch`, on an event loop where each member has its share (`fairness`), and passes the gate of
`server`; `call_recorder` stands outside of it.
"""
