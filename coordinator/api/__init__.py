"""What `import gemel` gives: linking in one process, drafting, checking, live projects, and results as objects.

`gemel/__init__.py` loads the names from here when they are used; what is public is listed in docs/api.md. `in_process`
links as the services do; `linking`, `specifications` and `live` are the functions, what they give, and the client.
"""
