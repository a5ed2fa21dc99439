"""Applications of other namespaces are written over the link, as far as each of three rules goes.

The settings say which namespaces the agent follows, the project which of them it admits, and the
owner's policy which of them the control plane may touch.
"""

from __future__ import annotations

from typing import Any

from bus.identity import AppKey
from bus.link import TaskKind, TaskPhase, TaskResult
from tests.flows.agent_fixture import APPLICATIONS, SERVER, config_map
from tests.flows.fake_service_link import FakeServiceLink, allow
from tests.flows.test_projects import limit
from tests.flows.test_source_namespaces import follow
from tests.support import eventually


async def test_an_application_of_another_namespace_is_written_where_all_rules_permit_it(
    link: FakeServiceLink,
) -> None:
    agent, team = link.agent, link.agent.destination
    agent.commit({"web/a.yaml": config_map("a")})
    await limit(agent, "closed")
    await limit(agent, "open", sourceNamespaces=[team])

    unfollowed = await put(link, "open")
    assert (unfollowed.code, "application.namespaces" in unfollowed.message) == (
        "not_allowed",
        True,
    )
    await follow(agent, team)
    closed = await eventually(lambda: answered(link, "closed", "sourceNamespaces"))
    assert closed.code == "not_allowed"
    assert await there(link) is None

    made = await eventually(lambda: done(link, "open"))
    assert made.phase is TaskPhase.SUCCEEDED, made
    assert "plumbline.dev/governed-by" in (await there(link) or {})["metadata"]["annotations"]
    await eventually(lambda: agent.parts.applications.get(AppKey(team, "web")))
    moved = await put(link, "closed")
    assert moved.code == "not_allowed"
    renamed = await put(link, "open", subject=f"{agent.namespace}/web")
    assert renamed.code == "invalid"

    await allow(agent, namespaces=f"{agent.namespace}, other")
    await link.fake_service.connected(times=2)
    limited = await link.do(TaskKind.DELETE, f"{team}/web", kind="Application")
    assert (limited.code, team in limited.message) == ("not_allowed", True)
    await allow(agent)
    await link.fake_service.connected(times=3)
    deleted = await link.do(TaskKind.DELETE, f"{team}/web", kind="Application", cascade=False)
    assert deleted.phase is TaskPhase.SUCCEEDED, deleted
    await eventually(lambda: gone(link))


async def put(link: FakeServiceLink, project: str, subject: str = "") -> TaskResult:
    team = link.agent.destination
    source = {"repoURL": link.agent.repository.url, "path": "web", "targetRevision": "main"}
    manifest = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "web", "namespace": team},
        "spec": {
            "project": project,
            "source": source,
            "destination": {"server": SERVER, "namespace": team},
        },
    }
    return await link.do(TaskKind.PUT, subject or f"{team}/web", manifest=manifest)


async def answered(link: FakeServiceLink, project: str, words: str) -> Any:
    """The answer, once it has the words: settings and projects are heard of a moment later."""
    ended = await put(link, project)
    return ended if words in ended.message else None


async def done(link: FakeServiceLink, project: str) -> Any:
    ended = await put(link, project)
    return ended if ended.phase is TaskPhase.SUCCEEDED else None


async def there(link: FakeServiceLink) -> dict[str, Any] | None:
    listed = await link.agent.api.get(APPLICATIONS.format(link.agent.destination))
    found: list[dict[str, Any]] = listed["items"]
    return next((one for one in found if one["metadata"]["name"] == "web"), None)


async def gone(link: FakeServiceLink) -> bool:
    return await there(link) is None
