"""Which pods run for which application, as the live index sees them come and go."""

from collections.abc import Callable
from functools import partial

import pytest

from bus.link.kinds import INSTANCES
from handlers.report.instances import MOST
from tests.unit.agent.bridge.live_cluster import SHOP, LiveClusterFixture


@pytest.fixture
def cluster() -> LiveClusterFixture:
    return LiveClusterFixture()


async def test_pods_are_found_by_way_of_their_owners(cluster: LiveClusterFixture) -> None:
    cluster.deployment()
    cluster.replica_set("web-1")
    cluster.pod("web-1-a", "web-1")
    cluster.pod("stranger", "of-nobody")
    assert await cluster.reported() == {"web-1-a": "web:1"}
    (pod,) = cluster.pods()
    assert (pod["uid"], pod["namespace"], pod["ready"]) == ("web-1-a", "web", True)


async def test_a_rollout_shows_the_old_and_the_new_side_by_side(
    cluster: LiveClusterFixture,
) -> None:
    cluster.deployment()
    cluster.replica_set("web-1")
    old = cluster.pod("web-1-a", "web-1", "web:1")
    await cluster.reported()
    cluster.replica_set("web-2")
    cluster.pod("web-2-a", "web-2", "web:2", status={"phase": "Pending"})
    assert await cluster.reported() == {"web-1-a": "web:1", "web-2-a": "web:2"}
    assert [pod["ready"] for pod in cluster.pods()] == [True, False]
    cluster.index.remove(old)
    cluster.pod("web-2-a", "web-2", "web:2")
    assert await cluster.reported() == {"web-2-a": "web:2"}
    assert [pod["ready"] for pod in cluster.pods()] == [True]


@pytest.mark.parametrize("order", ["top down", "bottom up"])
async def test_the_order_in_which_the_watches_bring_them_does_not_matter(
    cluster: LiveClusterFixture, order: str
) -> None:
    steps: tuple[Callable[[], object], ...] = (
        cluster.deployment,
        partial(cluster.replica_set, "web-1"),
        partial(cluster.pod, "web-1-a", "web-1"),
    )
    seen: dict[str, str] = {}
    for step in steps if order == "top down" else reversed(steps):
        step()
        seen |= await cluster.reported()
    assert seen == {"web-1-a": "web:1"}


async def test_what_changes_nothing_is_not_told(cluster: LiveClusterFixture) -> None:
    cluster.deployment()
    cluster.replica_set("web-1")
    cluster.pod("web-1-a", "web-1")
    await cluster.reported()
    cluster.pod("web-1-a", "web-1")
    cluster.deployment()
    assert await cluster.running.update() == []
    assert await cluster.running.update(everywhere=True) == []


async def test_finished_pods_are_no_instances_and_the_last_one_leaves_a_tombstone(
    cluster: LiveClusterFixture,
) -> None:
    cluster.deployment()
    cluster.replica_set("web-1")
    cluster.pod("web-1-a", "web-1")
    await cluster.reported()
    assert not cluster.item().deleted
    cluster.pod("web-1-a", "web-1", status={"phase": "Succeeded"})
    assert await cluster.running.update() == [SHOP]
    assert cluster.item().deleted


async def test_instances_go_with_their_application(cluster: LiveClusterFixture) -> None:
    cluster.deployment()
    cluster.replica_set("web-1")
    cluster.pod("web-1-a", "web-1")
    await cluster.reported()
    cluster.remove_app()
    assert await cluster.running.update() == [SHOP]
    assert cluster.item().deleted
    assert await cluster.states.members(INSTANCES.name) == []


async def test_the_project_of_instances_is_that_of_their_application(
    cluster: LiveClusterFixture,
) -> None:
    cluster.deployment()
    cluster.replica_set("web-1")
    cluster.pod("web-1-a", "web-1")
    await cluster.reported()
    cluster.put_app(project="other")
    assert await cluster.running.update() == [SHOP]
    assert (cluster.item().project, cluster.item().uid) == ("other", "uid-of-shop")


async def test_of_very_many_pods_the_rest_is_counted(cluster: LiveClusterFixture) -> None:
    cluster.deployment()
    cluster.replica_set("web-1")
    for number in range(MOST + 20):
        cluster.pod(f"web-1-{number:04}", "web-1")
    assert len(await cluster.reported()) == MOST
    assert cluster.body().status["leftOut"] == 20


async def test_a_list_that_would_not_fit_on_the_link_is_cut_and_says_so(
    cluster: LiveClusterFixture,
) -> None:
    cluster.deployment()
    cluster.replica_set("web-1")
    for number in range(MOST):
        cluster.pod(f"web-1-{number:04}", "web-1", image="x" * 4000)
    await cluster.running.update()
    status = cluster.body().status
    assert len(cluster.item().body) < 256 * 1024
    assert len(status["pods"]) + status["leftOut"] == MOST


async def test_a_known_secret_in_an_image_is_masked(cluster: LiveClusterFixture) -> None:
    cluster.known.learn(["c4nary-9f8e7d6c5b4a"])
    cluster.deployment()
    cluster.replica_set("web-1")
    cluster.pod("web-1-a", "web-1", image="host/c4nary-9f8e7d6c5b4a:1")
    await cluster.running.update()
    assert "c4nary" not in bytes(cluster.item().body).decode()


async def test_the_members_that_both_sides_compare_are_what_was_told(
    cluster: LiveClusterFixture,
) -> None:
    cluster.deployment()
    cluster.replica_set("web-1")
    cluster.pod("web-1-a", "web-1")
    assert await cluster.states.members(INSTANCES.name) == []
    await cluster.running.update()
    (member,) = await cluster.states.members(INSTANCES.name)
    assert (member.subject, member.hash) == (SHOP, cluster.item().hash)
