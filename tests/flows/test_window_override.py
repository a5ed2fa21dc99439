"""One sync passes a closed window: over the link and by `.operation`, as the owner permits."""

from __future__ import annotations

from typing import Any

from bus.link import TaskKind, TaskPhase
from tests.flows.agent_fixture import config_map
from tests.flows.fake_service_link import FakeServiceLink, allow
from tests.flows.test_sync_windows import DENY, operation_of, put_project

REASON = {"overrideWindow": True, "reason": "payments are down"}


async def test_an_override_passes_the_window_once_where_the_owner_permits_it(
    link: FakeServiceLink,
) -> None:
    await put_project(link.agent, DENY | {"description": "release freeze"})
    await link.differs(project="frozen")
    held = await link.do(TaskKind.SYNC)
    refused = await link.do(TaskKind.SYNC, **REASON)
    assert "release freeze" in held.message
    assert (refused.code, "overrideWindow" in refused.message) == ("not_allowed", True)

    await allow(link.agent, overrideWindow="true")
    await link.fake_service.connected(times=2)
    unreasoned = await link.do(TaskKind.SYNC, overrideWindow=True, reason=" ")
    assert (unreasoned.code, "reason" in unreasoned.message) == ("invalid", True)
    done = await link.do(TaskKind.SYNC, **REASON)
    assert done.phase is TaskPhase.SUCCEEDED, done

    await link.push({"web/config.yaml": config_map("web", a="2")})
    again = await link.do(TaskKind.SYNC)
    assert "release freeze" in again.message


async def test_an_operation_written_in_the_cluster_may_override_too(
    link: FakeServiceLink,
) -> None:
    await put_project(link.agent, DENY)
    await link.differs(project="frozen")
    info = [{"name": "overrideWindow", "value": "payments are down"}]
    operation: dict[str, Any] = {"operation": {"sync": {}, "info": info}}
    await link.agent.patch_app("web", operation)
    app = await link.agent.until(lambda app: bool(operation_of(app)), app="web")
    assert operation_of(app)["phase"] == "Error"
    assert "the override is refused" in operation_of(app)["message"]

    await allow(link.agent, overrideWindow="true")
    await link.fake_service.connected(times=2)
    await link.agent.patch_app("web", operation)
    await link.agent.until_synced("web")


async def test_the_calendar_says_what_is_closed_and_what_may_be_overridden(
    link: FakeServiceLink,
) -> None:
    await put_project(link.agent, DENY | {"manualSync": True}, DENY | {"applications": ["other"]})
    await link.differs(project="frozen")
    of_app = await link.do(TaskKind.SYNC_WINDOWS)
    assert [one["manualSync"] for one in of_app.body["windows"]] == [True]
    assert (of_app.body["automated"]["open"], of_app.body["byHand"]["open"]) == (False, True)
    assert "overrideWindow" in of_app.body["overrideProblem"]
    assert {one["automated"] for one in of_app.body["states"]} == {False}

    of_project = await link.do(
        TaskKind.SYNC_WINDOWS, f"{link.agent.namespace}/frozen", project="frozen"
    )
    assert len(of_project.body["windows"]) == 2
    assert of_project.body["states"] == []
    unknown = await link.do(TaskKind.SYNC_WINDOWS, "argocd/none", project="none")
    assert unknown.code == "not_found"
