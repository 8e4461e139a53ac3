"""Telling people what waits for them: from the audit log, by an outbox that outlives a crash, to receivers.

`notifier` derives messages from entries of the log and from certificates; `store.outbox` keeps them; `courier` sends
them by one of the `ways`, as `section` configures it. A run's transaction knows nothing of all this: a receiver that is
slow or dead delays no run.
"""
