"""Reports as offline HTML pages: of a linkage's quality, and of its disclosure risk.

`document_schemas` describes the documents that they are made from.
"""
