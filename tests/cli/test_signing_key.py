"""`gitops service rotate-signing-key`, as an operator calls it."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from tests.cli.conftest import Gitops

pytestmark = pytest.mark.flow


@pytest.mark.parametrize(
    ("option", "said"), [((), "for 900 s more"), (("--at-once",), "no longer")]
)
async def test_a_new_key_signs_and_older_ones_are_retired(
    gitops: Gitops, database_url: str, option: tuple[str, ...], said: str
) -> None:
    verb = ("service", "rotate-signing-key", *option)
    runs = [
        await asyncio.to_thread(gitops, *verb, GITOPS_SERVICE_DATABASE_URL=database_url)
        for _ in range(2)
    ]
    told = "".join(it.out + it.err for it in runs)
    assert [(it.code, said in it.out) for it in runs] == [(0, True), (0, True)], told
    connection = await asyncpg.connect(database_url, timeout=10)
    rows = await connection.fetch("SELECT secret, retired_at FROM service_keys")
    await connection.close()
    assert len([row for row in rows if row["retired_at"] is None]) == 1
    assert not any(row["secret"] in told for row in rows)


def test_without_settings_nothing_is_done(gitops: Gitops) -> None:
    assert gitops("service", "rotate-signing-key").code == 2
