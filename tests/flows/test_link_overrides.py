"""What a sync over the link may do beyond the target revision and the Application's own options."""

from __future__ import annotations

import pytest

from bus.link import TaskKind, TaskPhase
from tests.flows.agent_fixture import config_map
from tests.flows.fake_service_link import FakeServiceLink, allow


async def test_a_commit_that_the_target_does_not_reach_is_not_synced(link: FakeServiceLink) -> None:
    await link.differs()
    merged = link.agent.repository.head()
    stray = link.agent.commit({"web/config.yaml": config_map("web", a="stray")}, branch="stray")
    refused = await link.do(TaskKind.SYNC, revision=stray)
    claimed = await link.do(TaskKind.SYNC, revision="stray", override=True)
    reached = await link.do(TaskKind.SYNC, revision=merged[:8])
    assert (refused.code, claimed.code) == ("not_allowed", "not_allowed")
    assert "gitops_application_override" in refused.message
    assert "does not say override" in claimed.message
    assert reached.phase is TaskPhase.SUCCEEDED, reached


async def test_who_may_override_syncs_it_where_the_owner_says_so(link: FakeServiceLink) -> None:
    await link.differs()
    stray = link.agent.commit({"web/config.yaml": config_map("web", a="stray")}, branch="stray")
    await allow(link.agent, override="true")
    await link.fake_service.connected(times=2)
    done = await link.do(TaskKind.SYNC, revision=stray, override=True)
    assert done.phase is TaskPhase.SUCCEEDED, done
    assert done.body["revision"] == stray
    assert (await link.agent.get("configmaps/web") or {})["data"] == {"a": "stray"}


@pytest.mark.parametrize(
    ("own", "option"),
    [
        ([], "Replace=true"),
        ([], "Validate=false"),
        (["Prune=false"], "PruneLast=true"),
        (["FailOnSharedResource=true"], "PruneLast=true"),
    ],
)
async def test_options_that_guard_less_are_refused(
    link: FakeServiceLink, own: list[str], option: str
) -> None:
    await link.differs(syncPolicy={"syncOptions": own} if own else {})
    refused = await link.do(TaskKind.SYNC, options=[option])
    assert refused.code == "not_allowed"
    assert "takes away what guards" in refused.message


async def test_a_selection_that_names_nothing_is_refused_and_told_of_by_the_operation(
    link: FakeServiceLink,
) -> None:
    await link.differs()
    wrong = [{"kind": "ConfigMap", "name": "wbe"}]
    refused = await link.do(TaskKind.SYNC, resources=wrong)
    done = await link.do(TaskKind.SYNC, resources=wrong, revision=link.agent.repository.head())
    app = await link.agent.app("web")
    assert (refused.code, refused.phase) == ("not_found", TaskPhase.FAILED)
    assert ":ConfigMap:wbe" in refused.message
    assert f"/ConfigMap/{link.agent.destination}/web" in refused.message
    assert done.phase is TaskPhase.SUCCEEDED, done
    assert "is selected by :ConfigMap:wbe" in app["status"]["operationState"]["message"]
