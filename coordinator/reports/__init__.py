"""Reports as offline HTML pages: of a linkage's quality, and of its disclosure risk."""
