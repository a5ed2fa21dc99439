"""What a sync over the link may do beyond the target revision and the Application's own options."""

from __future__ import annotations

import pytest

from bus.link import TaskKind, TaskPhase
from tests.flows.house import config_map
from tests.flows.near import Near, allow

pytestmark = pytest.mark.flow


async def test_a_commit_that_the_target_does_not_reach_is_not_synced(near: Near) -> None:
    await near.differs()
    merged = near.house.repository.head()
    stray = near.house.commit({"web/config.yaml": config_map("web", a="stray")}, branch="stray")
    refused = await near.do(TaskKind.SYNC, revision=stray)
    claimed = await near.do(TaskKind.SYNC, revision="stray", override=True)
    reached = await near.do(TaskKind.SYNC, revision=merged[:8])
    assert (refused.code, claimed.code) == ("not_allowed", "not_allowed")
    assert "gitops_application_override" in refused.message
    assert "does not say override" in claimed.message
    assert reached.phase is TaskPhase.SUCCEEDED, reached


async def test_who_may_override_syncs_it_where_the_owner_says_so(near: Near) -> None:
    await near.differs()
    stray = near.house.commit({"web/config.yaml": config_map("web", a="stray")}, branch="stray")
    await allow(near.house, override="true")
    await near.far.connected(times=2)
    done = await near.do(TaskKind.SYNC, revision=stray, override=True)
    assert done.phase is TaskPhase.SUCCEEDED, done
    assert done.body["revision"] == stray
    assert (await near.house.get("configmaps/web") or {})["data"] == {"a": "stray"}


@pytest.mark.parametrize(
    ("own", "option"),
    [
        ([], "Replace=true"),
        ([], "Validate=false"),
        (["Prune=false"], "PruneLast=true"),
        (["FailOnSharedResource=true"], "PruneLast=true"),
    ],
)
async def test_options_that_guard_less_are_refused(near: Near, own: list[str], option: str) -> None:
    await near.differs(syncPolicy={"syncOptions": own} if own else {})
    refused = await near.do(TaskKind.SYNC, options=[option])
    assert refused.code == "not_allowed"
    assert "takes away what guards" in refused.message
