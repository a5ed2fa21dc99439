"""A real agent keeps the heads of a real service's audit, in its own cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from service.store.tables import audit_anchors
from tests.flows.house import House
from tests.flows.linked import Linked, linked_house
from tests.support import eventually

pytestmark = pytest.mark.flow


@pytest.fixture
async def linked(quiet_house: House, database_url: str, tmp_path: Path) -> AsyncIterator[Linked]:
    async with linked_house(quiet_house, database_url, tmp_path) as found:
        yield found


async def test_an_audit_that_was_cut_is_contradicted_by_the_agents_cluster(
    linked: Linked, database_url: str
) -> None:
    async def is_anchored() -> bool:
        return bool(await linked.world.rows(audit_anchors))

    await eventually(is_anchored)
    _, before = await linked.world.call("GET", "/audit/verify")
    assert (before["ok"], before["anchors"] > 0) == (True, True), before
    owner = await asyncpg.connect(database_url, timeout=10)
    await owner.execute("ALTER TABLE audit DISABLE TRIGGER audit_append_only")
    await owner.execute("DELETE FROM audit")
    await owner.execute("DELETE FROM audit_anchors")
    await owner.execute("ALTER TABLE audit ENABLE TRIGGER audit_append_only")
    await owner.close()

    async def is_told_again() -> bool:
        return bool(await linked.world.rows(audit_anchors))

    await linked.world.call("GET", "/audit/export")  # a record, so that there is a head to tell
    await eventually(is_told_again)
    _, after = await linked.world.call("GET", "/audit/verify")
    assert not after["ok"]
    assert "agent" in after["reason"]
