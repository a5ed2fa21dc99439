"""Frames that no service sends: huge, broken, of other protocols. The agent stays and works."""

from __future__ import annotations

from contextlib import suppress

import pytest

from bus.link import Offer, TaskKind, TaskPhase
from tests.faults.hostile_service.hostile import Hostile
from tests.flows.agent_fixture import config_map

FRAMES = {
    "no JSON": "{",
    "another type": '{"frame": "nonsense"}',
    "a list": "[1, 2, 3]",
    "deep": "[" * 100_000,
    "huge": '{"frame": "beat", "sent_at": 1, "x": "' + "a" * (4 << 20) + '"}',
    "wrong fields": '{"frame": "offer", "task": {"id": 7}}',
    "a number that is none": '{"frame": "ack", "through": 1e999}',
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())
async def test_a_frame_that_cannot_be_read_costs_a_link_and_no_more(
    hostile: Hostile, frame: str
) -> None:
    with suppress(ConnectionError):  # the agent may hang up before it has heard the whole of it
        await hostile.link.fake_service._sockets[-1].send_str(frame)
    hostile.agent.commit({"web/a.yaml": config_map("a")})
    await hostile.agent.apply_app("web", "web", syncPolicy={"automated": {}})
    await hostile.agent.until_synced("web")
    answer = await hostile.insist(TaskKind.REFRESH, "web")
    assert answer.phase is TaskPhase.SUCCEEDED


async def test_a_task_of_nonsense_is_refused_by_its_own_result(hostile: Hostile) -> None:
    fake_service = hostile.link.fake_service
    nonsense = (
        hostile.task(TaskKind.SYNC, "../../kube-system/x"),
        hostile.task(TaskKind.PUT, "x", arguments={"manifest": "text"}),
        hostile.task(TaskKind.PUT, "x", arguments={"manifest": {"kind": "Secret"}}),
        hostile.task(TaskKind.LOGS, "x", arguments={"tail": "many"}),
        hostile.task(TaskKind.DELETE, "x", arguments={"kind": "Namespace"}),
    )
    for task in nonsense:
        assert (await fake_service.do(task)).phase is TaskPhase.FAILED


async def test_what_is_no_id_is_not_taken(hostile: Hostile) -> None:
    task = hostile.task(TaskKind.REFRESH, "web")
    for id_ in ("", "x" * 10_000, "a b", ">", "*", "a.b", "../a", "a\nb", "ä"):
        await hostile.link.fake_service.send(Offer(task=type(task)(**{**fields(task), "id": id_})))
    known = await hostile.do(TaskKind.REFRESH, "absent")
    assert known.phase is TaskPhase.FAILED
    assert hostile.link.fake_service.results.keys() == {known.id}


def fields(task: object) -> dict[str, object]:
    return {name: getattr(task, name) for name in type(task).__struct_fields__}  # type: ignore[attr-defined]
