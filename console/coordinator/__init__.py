"""The console in the browser of a coordinator or a steward: what their commands do, on pages.

It holds nothing of its own: each page is made of what Carole answers, by `coordinator.client`, with the certificate of
the member in whose folder the configuration is. `member` finds whose it is, `application` puts the pages together,
`coordinator_pages`, `proposal_pages`, `ending_pages` and `steward_pages` are the two roles'; both have
`ownership_pages`, `restored_pages` and `shared_pages`. Which forms a page has is in `acts`, and the words are in
`waiting`, `specification_words`, `project_words` and the pages that alone use them.
"""
