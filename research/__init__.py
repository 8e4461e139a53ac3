"""The experiments of the source papers, done again, and the pages that show their numbers beside ours."""
