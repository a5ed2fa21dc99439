"""The database role that the service runs as: it owns nothing, and of the audit it reads and adds.

Who owns a table can switch its triggers off. So the tables belong to the role that migrates, and
the service's role gets rights one by one.
"""

from __future__ import annotations

from sqlalchemy import text

from service.store.database import open_engine
from service.store.tables import audit, metadata

_ADD_ONLY = frozenset({audit.name})
_RETENTION = (
    "retention_add(text, date)",
    "retention_drop(text, date)",
    "retention_clear(text, timestamptz)",
)
"""Functions of the owner: they make and drop partitions, and know what may not go."""


async def grant(url: str, role: str) -> None:
    """As the owner of `url`. `role` has to exist; what it had before on our tables is taken."""
    async with open_engine(url, 2) as engine, engine.begin() as connection:
        quote = connection.dialect.identifier_preparer.quote
        grantee = quote(role)
        for table in metadata.sorted_tables:
            rights = "SELECT, INSERT"
            if table.name not in _ADD_ONLY:
                rights += ", UPDATE, DELETE"
            name = quote(table.name)
            await connection.execute(text(f"REVOKE ALL ON {name} FROM {grantee}"))
            await connection.execute(text(f"GRANT {rights} ON {name} TO {grantee}"))
        for function in _RETENTION:
            await connection.execute(text(f"GRANT EXECUTE ON FUNCTION {function} TO {grantee}"))
        await connection.execute(text(f"GRANT USAGE ON SCHEMA public TO {grantee}"))
        await connection.execute(
            text(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {grantee}")
        )
