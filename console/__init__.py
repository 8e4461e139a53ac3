"""The console: what parties do by commands, on pages in a browser.

`web` is what all have in common: who may enter, forms, pages, where it listens. `custodian` and `coordinator` are the
views of the roles: of a custodian, and of the coordinator or a steward. It needs the extra `console`; no service does.
"""
