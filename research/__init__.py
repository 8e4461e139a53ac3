"""The experiments of the source papers, done again, and the pages that show their numbers beside ours."""

from pathlib import Path

PAGES = Path(__file__).parent
"""Where an experiment writes its page."""
