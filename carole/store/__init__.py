"""What Carole keeps: projects, uploads, runs, results and the audit log, in a database and a folder or bucket of blobs.

The database is authoritative. A blob is on the disk, whole, before the row that names it; so a row never names a
missing blob, and a blob that no row names was left by a crash and is swept (`retention`). Everything uploaded is
encrypted with a separate random key, which the database holds only wrapped: erasing is destroying that key. Backups of
the database hold the wrapped keys of their time, so they must not be kept longer than the data to be erased, or the
wrapping key must be changed and the old one destroyed.

A store is made once (`provision`), brought from version to version (`migrations`), held by one Carole at a time
(`tenure`) and backed up while she serves (`backup`).
"""

from gemel.carole.store.store import Store

__all__ = ["Store"]
