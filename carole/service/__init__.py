"""Carole as a service: thin servicers over the store, the worker process that links, and the application.

`custody` and `coordination` answer calls; `worker` is the process that works on runs, and `supervisor` keeps it alive;
`linking` is one run from uploads to sealed shares; `application` wires the parts.
"""
