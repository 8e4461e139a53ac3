"""Carole's shards worked on by other machines: Dask, with a scheduler and workers in her own trust domain.

Whoever may connect to the scheduler may run programs on it and on every worker, and what workers send back is unpickled
by Carole. So all connections are TLS with certificates of one authority that certifies nothing else, on both sides. A
task has no key: it names chunks of encrypted files, and a data key as it rests, wrapped; a worker unwraps it by a
wrapping key that it was given by its operator. Nothing is written to a worker's disk.

This package needs the extra `cluster` and is imported only where the configuration's `engine` says so.
"""
