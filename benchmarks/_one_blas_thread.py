"""Imported before numpy: one thread for matrix products, in this process and those that it starts.

Two sections of a benchmark run side by side fill two cores; and products of small matrices, of which blocks have many,
wait for each other's threads much longer than they compute.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
