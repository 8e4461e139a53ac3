"""The console in the browser of a custodian: what its operator's commands do, on pages.

It holds nothing of its own: each page is made of what the custodian's running service answers its operator
(`operator.control`), except that what Carole could learn is measured here, by the operator's own process, as
`gemel alice leakage` does (`measurements`). `custodian` finds whose it is, `application` puts the pages together;
`project_pages` show, `decision_pages` decide, `leakage_pages` measure; the words are in `project_words` and `leaving`.
"""
