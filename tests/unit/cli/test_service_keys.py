"""`gitops service new-key|rotate-key|sign-audit|grant-role`, as an operator calls them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import asyncpg
import pytest

from service.keys.key_file import read_ring
from tests.unit.cli.conftest import Gitops


def test_a_key_file_is_made_once(gitops: Gitops, tmp_path: Path) -> None:
    file = tmp_path / "service.key"
    made = gitops("service", "new-key", str(file))
    assert (made.code, read_ring(file).current.id in made.out) == (0, True)
    again = gitops("service", "new-key", str(file))
    assert again.code == 2
    assert "rotate-key" in again.err


@pytest.mark.parametrize(("option", "secret"), [((), 3), (("--retire",), 1)])
async def test_a_new_key_is_in_use(
    gitops: Gitops, database_url: str, tmp_path: Path, option: tuple[str, ...], secret: int
) -> None:
    file = tmp_path / "service.key"
    gitops("service", "new-key", str(file))
    first = read_ring(file).current
    environment = {
        "GITOPS_SERVICE_DATABASE_URL": database_url,
        "GITOPS_SERVICE_KEY_FILE": str(file),
    }
    runs = [
        await asyncio.to_thread(gitops, "service", "rotate-key", *option, **environment)
        for _ in range(2)
    ]
    output = "".join(it.out + it.err for it in runs)
    assert [it.code for it in runs] == [0, 0], output
    ring = read_ring(file)
    assert ring.current.id in runs[-1].out
    assert (len(ring.secret), ring.public(first.id) is not None) == (secret, True)
    assert not any(key.text in output for key in (*ring.secret, first))
    signed = await asyncio.to_thread(gitops, "service", "sign-audit", **environment)
    assert (signed.code, "nothing" in signed.out) == (0, True), signed.err


async def test_a_role_is_granted_what_the_service_needs(
    gitops: Gitops, database_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "service.key"
    gitops("service", "new-key", str(file))
    environment = {
        "GITOPS_SERVICE_DATABASE_URL": database_url,
        "GITOPS_SERVICE_KEY_FILE": str(file),
    }
    connection = await asyncpg.connect(database_url, timeout=180)
    await connection.execute('CREATE ROLE "odd ""role"')
    try:
        done = await asyncio.to_thread(gitops, "service", "grant-role", 'odd "role', **environment)
        rights = await connection.fetch(
            "SELECT privilege_type FROM information_schema.role_table_grants"
            " WHERE table_name = 'audit' AND grantee = $1",
            'odd "role',
        )
    finally:
        await connection.execute('DROP OWNED BY "odd ""role"')
        await connection.execute('DROP ROLE "odd ""role"')
        await connection.close()
    assert done.code == 0, done.err
    assert {row["privilege_type"] for row in rights} == {"SELECT", "INSERT"}


@pytest.mark.parametrize("verb", ["rotate-key", "sign-audit"])
def test_without_settings_nothing_is_done(gitops: Gitops, verb: str) -> None:
    assert gitops("service", verb).code == 2
