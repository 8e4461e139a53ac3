"""What `import gemel` gives: linking in one process, drafting, checking, live projects, and results as objects.

`gemel/__init__.py` loads the names from here when they are used; what is public is listed in docs/api.md. `frames`
reads tables and paths; `in_process` links as the services do, and `block_keyed` is its part of
that mode; `linking`, `specifications` and `live` are the functions and the client; `linked_files` what
`link` gives.
"""
