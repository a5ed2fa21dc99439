"""The agent's half of the link on real parts, with a small far end that speaks the frames."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bus.identity import AppKey
from bus.link import Task, TaskKind, TaskPhase
from tests.bridge.farend import FarEnd, quiet
from tests.flows.house import House, config_map, is_synced
from tests.support import eventually

pytestmark = pytest.mark.flow


@pytest.fixture
async def far() -> AsyncIterator[FarEnd]:
    async with FarEnd().open() as far:
        yield far


@pytest.fixture
def linked(quiet_house: House, far: FarEnd, tmp_path: Path) -> House:
    """A house that knows where its service is, and has a token for it."""
    token = tmp_path / "token"
    token.write_text(far.token)
    link = quiet_house.settings.link.model_copy(update={"url": far.url, "token_file": token})
    quiet_house.settings = quiet_house.settings.model_copy(update={"link": link})
    return quiet_house


def task(kind: TaskKind, subject: str = "", **arguments: object) -> Task:
    return Task(id=uuid.uuid4().hex, kind=kind, subject=subject, actor="ann", arguments=arguments)


def is_out_of_sync(app: dict[str, Any]) -> bool:
    return bool(app.get("status", {}).get("sync", {}).get("status") == "OutOfSync")


async def test_an_agent_enrols_once_and_what_happens_is_told_in_order(
    linked: House, far: FarEnd
) -> None:
    linked.commit({"web/config.yaml": config_map("web", a="1")})
    async with linked.running():
        await far.connected()
        await linked.apply_app("web", "web", syncPolicy={"automated": {}})
        await linked.until_synced("web")
        key = f"{linked.namespace}/web"
        await eventually(lambda: is_synced(far.state("Application", key)))
        await quiet(far)
    assert far.enrolments == 1
    assert [item.sequence for item in far.items] == sorted({item.sequence for item in far.items})
    told = [item.type for item in far.facts if item.subject == str(AppKey.parse(key))]
    assert "fact.operation.finished.v1" in told


async def test_a_sync_that_was_asked_for_is_done_once_and_its_end_is_known(
    linked: House, far: FarEnd
) -> None:
    linked.commit({"web/config.yaml": config_map("web", a="1")})
    async with linked.running():
        await far.connected()
        await linked.apply_app("web", "web")
        await linked.until(is_out_of_sync, app="web")
        wanted = task(TaskKind.SYNC, f"{linked.namespace}/web")
        first = await far.do(wanted)
        again = await far.do(wanted)
        app = await linked.until_synced("web")
    assert (first.phase, first.code) == (TaskPhase.SUCCEEDED, "ok"), first
    assert again == first
    assert len(app["status"]["history"]) == 1
