"""The console in the browser of a coordinator or a steward: what their commands do, on pages.

It holds nothing of its own: each page is made of what Carole answers, by `coordinator.client`, with the certificate of
the member in whose folder the configuration is. `member` finds whose it is, `application` puts the pages together,
`coordinator_pages` and `steward_pages` are the two roles', `shared_pages` both have, and the words are in `waiting`,
`specification_words`, `project_words` and `audit_words`.
"""
