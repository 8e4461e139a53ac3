"""Version 1: every table of the first release, as beside it in SQL. Its triggers keep the audit log append-only."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "1"
down_revision = None

_TYPES = {
    "sqlite": {"bytes": "BLOB", "double": "DOUBLE", "serial": "INTEGER"},
    "postgresql": {"bytes": "BYTEA", "double": "DOUBLE PRECISION", "serial": "SERIAL"},
}
_GUARDED = ("audit", "audit_nodes", "audit_checkpoints")


def upgrade() -> None:
    """Make every table, and let the database refuse changes of the log."""
    dialect = op.get_context().dialect.name
    tables = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8").format(**_TYPES[dialect])
    for statement in tables.strip().removesuffix(";").split(";"):
        op.execute(statement)
    op.execute("INSERT INTO meta VALUES ('audit', 0), ('state', 0), ('payloads', 0)")
    op.execute("INSERT INTO tenure VALUES ('', '', 0)")
    if dialect == "postgresql":
        op.execute(
            "CREATE OR REPLACE FUNCTION audit_append_only() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$"
        )
    for name in _GUARDED:
        if dialect == "postgresql":
            op.execute(
                f"CREATE TRIGGER {name}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {name} "
                "FOR EACH STATEMENT EXECUTE FUNCTION audit_append_only()"
            )
        else:
            for operation in ("UPDATE", "DELETE"):
                op.execute(
                    f"CREATE TRIGGER {name}_no_{operation.lower()} BEFORE {operation} ON {name} "
                    "BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END"
                )
