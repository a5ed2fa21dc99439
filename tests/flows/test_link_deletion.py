"""Deletions that wait for a person are approved over the link, and only while they wait."""

from __future__ import annotations

from bus.link import TaskKind, TaskPhase
from handlers.application.deletion_approval import DELETION_APPROVED
from handlers.sync.operation import PRUNE_WAITS
from tests.flows.agent_fixture import config_map
from tests.flows.fake_service_link import FakeServiceLink

NOTE = "annotations: {argocd.argoproj.io/sync-options: Prune=confirm}"
OLD = config_map("old").replace("metadata: {name:", f"metadata: {{{NOTE}, name:")
PRUNING = {"automated": {"prune": True}}


async def test_a_prune_that_waits_is_approved_and_nothing_ahead_of_it(
    link: FakeServiceLink,
) -> None:
    link.agent.commit({"web/a.yaml": config_map("a"), "web/old.yaml": OLD})
    await link.agent.apply_app("web", "web", syncPolicy=PRUNING)
    await link.agent.until_synced("web")
    ahead = await link.do(TaskKind.CONFIRM_DELETION)
    await link.push({"web/old.yaml": None})
    await link.agent.until(
        lambda app: app["status"]["operationState"]["message"].startswith(PRUNE_WAITS), app="web"
    )
    approved = await link.do(TaskKind.CONFIRM_DELETION)

    await link.agent.until_gone("configmaps/old")
    assert (ahead.phase, ahead.code) == (TaskPhase.FAILED, "conflict"), ahead
    assert "nothing of" in ahead.message
    assert approved.phase is TaskPhase.SUCCEEDED, approved
    annotations = (await link.app())["metadata"]["annotations"]
    assert annotations[DELETION_APPROVED] == approved.body["approvedAt"]
