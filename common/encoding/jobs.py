"""Fields and rules encoded at the same time, and how far that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed

from tryst.common.progress import Progress


def run_jobs(jobs: Mapping[str, Callable[[], None]], threads: int, progress: Progress | None) -> None:
    """Run the jobs in some threads, and tell of each that is done; the first error stops what has not begun."""
    with ThreadPoolExecutor(max_workers=threads) as pool:
        running = {pool.submit(job): name for name, job in jobs.items()}
        try:
            for done, ended in enumerate(as_completed(running), start=1):
                ended.result()
                if progress is not None:
                    progress(running[ended], done / len(jobs))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
