"""The console in the browser of a coordinator or a steward: what their commands do, on pages.

It holds nothing of its own: each page is made of what Carole answers, by `coordinator.client`, with the certificate of
the member in whose folder the configuration is. `member` finds whose it is, `acts` has which forms a page has.
"""
