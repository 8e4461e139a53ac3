"""What Carole keeps: projects, uploads, runs, results and the audit log, in a database and a folder of blobs.

The database is the truth. A blob is on the disk, whole, before the row that names it; so a row never names what is not
there, and a blob that no row names is what a crash left behind, swept away at the next start. Everything uploaded is
encrypted with a random key of its own, which the database holds only wrapped: erasing is destroying that key. Backups
of the database hold the wrapped keys of their time, so they must not outlive what was to be erased, or the wrapping
key must be changed and the old one destroyed.
"""

from tryst.carole.store.store import Store

__all__ = ["Store"]
