"""Applications with several sources: each follows its repository, all are one deployment."""

from __future__ import annotations

from typing import Any

import pytest

from bus.events import RefreshRepository, RevisionResolved, SyncApp
from bus.identity import AppKey, RepositoryKey
from playground.charthost import ChartHost
from playground.githost import GitHost, HostedRepository
from tests.flows.agent_fixture import AgentFixture, conditions, config_map, is_synced
from tests.flows.evidence import facts
from tests.support import eventually

AUTOMATED = {"automated": {"prune": True, "selfHeal": True}}
CHART = {
    "chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "chart/templates/config.yaml": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"
        "data: {size: '{{ .Values.size }}', note: {{ .Values.note | quote }}}\n"
    ),
    "chart/values.yaml": "size: small\nnote: none\n",
}


@pytest.fixture
def second(agent: AgentFixture, git_host: GitHost) -> HostedRepository:
    """Another repository, whose pushes the agent hears of."""
    repository = git_host.create(f"{agent.settings.agent}/second")
    repository.webhook = agent.repository.webhook
    return repository


def of(repository: HostedRepository, path: str = "", **more: Any) -> dict[str, Any]:
    source = {"repoURL": repository.url, "targetRevision": "main", **more}
    return {**source, "path": path} if path else source


async def apply(agent: AgentFixture, *sources: dict[str, Any], **policy: Any) -> None:
    await agent.apply_app("web", "web", sources=list(sources), syncPolicy=policy or AUTOMATED)


async def until_at(agent: AgentFixture, *revisions: str) -> dict[str, Any]:
    """Wait until these revisions are deployed and nothing differs."""

    def holds(app: dict[str, Any]) -> bool:
        history = app.get("status", {}).get("history", [])
        return is_synced(app) and [one.get("revisions") for one in history][-1:] == [
            list(revisions)
        ]

    return (await agent.until(holds, app="web"))["status"]


async def data(agent: AgentFixture, name: str) -> dict[str, str] | None:
    found = await agent.get(f"configmaps/{name}")
    return found.get("data") if found is not None else None


async def resolved(agent: AgentFixture, revision: str) -> RevisionResolved:
    """The fact that a commit was looked at, which says how many Applications it touches."""
    found: list[RevisionResolved] = []

    async def is_published() -> bool:
        seen = await facts(agent.parts.bus, RevisionResolved)
        found[:] = [one for one in seen if one.revision == revision]
        return bool(found)

    await eventually(is_published, within=120)
    return found[0]


async def test_each_source_follows_its_own_repository(
    agent: AgentFixture, second: HostedRepository
) -> None:
    a1 = agent.commit({"web/a.yaml": config_map("a", size="1")})
    b1 = second.commit({"api/b.yaml": config_map("b", size="1")})
    await apply(agent, of(agent.repository, "web"), of(second, "api"))
    status = await until_at(agent, a1, b1)
    assert status["sync"]["revisions"] == [a1, b1]
    assert not status["sync"].get("revision")
    assert [one["path"] for one in status["sync"]["comparedTo"]["sources"]] == ["web", "api"]
    assert status["sourceTypes"] == ["Directory", "Directory"]
    assert status["operationState"]["syncResult"]["revisions"] == [a1, b1]

    b2 = second.commit({"api/b.yaml": config_map("b", size="2")})
    status = await until_at(agent, a1, b2)
    assert await data(agent, "b") == {"size": "2"}
    assert [one["path"] for one in status["history"][-1]["sources"]] == ["web", "api"]

    unread = agent.commit({"other/c.yaml": config_map("c", of="c")})
    assert (await resolved(agent, unread)).touched == 0


async def test_a_chart_reads_value_files_of_another_repository(
    agent: AgentFixture, second: HostedRepository
) -> None:
    chart = agent.commit(CHART)
    v1 = second.commit({"envs/prod.yaml": "size: large\n", "envs/note.txt": "hello"})
    helm = {
        "valueFiles": ["$values/envs/prod.yaml", "$values/extra/*.yaml"],
        "ignoreMissingValueFiles": True,
        "fileParameters": [{"name": "note", "path": "$values/envs/note.txt"}],
    }
    await apply(agent, of(agent.repository, "chart", helm=helm), of(second, ref="values"))
    status = await until_at(agent, chart, v1)
    assert await data(agent, "web") == {"size": "large", "note": "hello"}
    assert status["sourceTypes"] == ["Helm", ""]

    unread = second.commit({"envs/dev.yaml": "size: tiny\n"})
    assert (await resolved(agent, unread)).touched == 0
    v2 = second.commit({"envs/prod.yaml": "size: huge\n"})
    await until_at(agent, chart, v2)
    assert await data(agent, "web") == {"size": "huge", "note": "hello"}
    v3 = second.commit({"extra/more.yaml": "size: vast\n"})
    await until_at(agent, chart, v3)
    assert await data(agent, "web") == {"size": "vast", "note": "hello"}


async def test_a_chart_of_a_helm_repository_reads_value_files_of_git(agent: AgentFixture) -> None:
    v1 = agent.commit({"envs/prod.yaml": "greeting: hi\n"})
    async with ChartHost() as charts:
        charts.publish("web", "1.0.0")
        chart = {
            "repoURL": charts.url,
            "chart": "web",
            "targetRevision": "1.x",
            "helm": {"valueFiles": ["$values/envs/prod.yaml"]},
        }
        await apply(agent, chart, of(agent.repository, ref="values"))
        status = await until_at(agent, "1.0.0", v1)
        assert await data(agent, "web") == {"version": "1.0.0", "greeting": "hi"}
        assert status["sourceTypes"] == ["Helm", ""]

        v2 = agent.commit({"envs/prod.yaml": "greeting: welcome\n"})
        await until_at(agent, "1.0.0", v2)
        assert await data(agent, "web") == {"version": "1.0.0", "greeting": "welcome"}

        charts.publish("web", "1.1.0")
        await agent.publish(RefreshRepository(repository=RepositoryKey(f"{charts.url}#web")))
        await until_at(agent, "1.1.0", v2)
        assert await data(agent, "web") == {"version": "1.1.0", "greeting": "welcome"}


async def test_sources_come_go_and_change_their_order_and_a_rollback_restores_them(
    agent: AgentFixture, second: HostedRepository
) -> None:
    a = agent.commit(
        {"web/a.yaml": config_map("a", of="a"), "more/c.yaml": config_map("c", of="c")}
    )
    b = second.commit({"api/b.yaml": config_map("b", of="b")})
    web, more, api = of(agent.repository, "web"), of(agent.repository, "more"), of(second, "api")
    await apply(agent, web, api)
    await until_at(agent, a, b)
    await apply(agent, api, more, web)
    await until_at(agent, b, a, a)
    assert await data(agent, "c") == {"of": "c"}
    await apply(agent, more)
    await until_at(agent, a)
    await agent.until_gone("configmaps/a")
    await agent.until_gone("configmaps/b")

    await apply(agent, more, automated={"enabled": False})
    key = AppKey(agent.namespace, "web")
    await agent.publish(SyncApp(app=key, id="back", actor="anna", history_id=0, prune=True))
    app = await agent.until(lambda app: len(app["status"]["history"]) == 4, app="web")
    last = app["status"]["history"][-1]
    assert (last["revisions"], [one["path"] for one in last["sources"]]) == ([a, b], ["web", "api"])
    await agent.until_gone("configmaps/c")
    assert await data(agent, "b") == {"of": "b"}


async def test_a_sync_by_hand_deploys_what_is_compared_or_the_revisions_it_names(
    agent: AgentFixture, second: HostedRepository
) -> None:
    a = agent.commit({"web/a.yaml": config_map("a", size="1")})
    b1 = second.commit({"api/b.yaml": config_map("b", size="1")})
    await apply(agent, of(agent.repository, "web"), of(second, "api"), automated={"enabled": False})
    await agent.until(lambda app: app.get("status", {}).get("sync", {}).get("revisions"), app="web")
    await agent.patch_app("web", {"operation": {"sync": {"prune": True}}})
    await until_at(agent, a, b1)

    b2 = second.commit({"api/b.yaml": config_map("b", size="2")})
    await agent.patch_app("web", {"operation": {"sync": {"revisions": ["", b2]}}})
    await until_at(agent, a, b2)
    assert await data(agent, "b") == {"size": "2"}


async def test_a_chart_and_the_values_that_it_reads_of_its_own_repository_move_together(
    agent: AgentFixture,
) -> None:
    a = agent.commit(
        {**CHART, "envs/v.yaml": "size: large\n", "more/b.yaml": config_map("b", size="1")}
    )
    helm = {"valueFiles": ["$values/envs/v.yaml"]}
    sources = (
        of(agent.repository, "chart", helm=helm),
        of(agent.repository, "more", ref="values"),
    )
    await apply(agent, *sources)
    await until_at(agent, a, a)
    b = agent.commit({"more/b.yaml": config_map("b", size="2")})
    await until_at(agent, b, b)

    await apply(agent, *sources, automated={"enabled": False})
    await agent.patch_app("web", {"operation": {"sync": {"revisions": [b, a]}}})
    app = await agent.until(lambda app: len(app["status"]["history"]) == 3, app="web")
    assert app["status"]["history"][-1]["revisions"] == [b, a]
    assert await data(agent, "b") == {"size": "1"}


async def test_the_last_source_wins_an_object_that_several_have(
    agent: AgentFixture, second: HostedRepository
) -> None:
    a = agent.commit({"web/a.yaml": config_map("a", by="first")})
    b = second.commit({"web/a.yaml": config_map("a", by="second")})
    await apply(agent, of(agent.repository, "web"), of(second, "web"))
    await until_at(agent, a, b)
    assert await data(agent, "a") == {"by": "second"}
    app = await agent.app("web")
    assert (
        f"ConfigMap {agent.destination}/a is in spec.sources[0] and in spec.sources[1]"
        in (conditions(app)["RepeatedResourceWarning"])
    )
    gone = second.commit({"web/a.yaml": None, "web/b.yaml": config_map("b", of="b")})
    await until_at(agent, a, gone)
    assert await data(agent, "a") == {"by": "first"}
    assert "RepeatedResourceWarning" not in conditions(await agent.app("web"))


async def test_a_source_that_cannot_be_read_is_named_and_nothing_is_pruned(
    agent: AgentFixture, second: HostedRepository
) -> None:
    a = agent.commit({"web/a.yaml": config_map("a", of="a")})
    b = second.commit({"api/b.yaml": config_map("b", of="b")})
    await apply(agent, of(agent.repository, "web"), of(second, "api"))
    await until_at(agent, a, b)
    second.commit({"api/b.yaml": None, "moved/b.yaml": config_map("b", of="b")})
    app = await agent.until(lambda app: "ComparisonError" in conditions(app), app="web")
    assert (
        "spec.sources[1]: spec.source.path: no folder 'api'" in (conditions(app)["ComparisonError"])
    )
    assert await data(agent, "b") == {"of": "b"}


async def test_a_push_to_a_remote_base_is_deployed(
    agent: AgentFixture, second: HostedRepository
) -> None:
    second.commit(
        {
            "base/kustomization.yaml": "resources: [b.yaml]\n",
            "base/b.yaml": config_map("b", size="1"),
        }
    )
    base = f"{second.url}//base?ref=main"
    agent.commit({"web/kustomization.yaml": f"resources: ['{base}']\nnamePrefix: my-\n"})
    await agent.apply_app("web", "web", syncPolicy=AUTOMATED)
    await agent.until_synced("web")
    assert await data(agent, "my-b") == {"size": "1"}

    second.commit({"base/b.yaml": config_map("b", size="2")})

    async def is_deployed() -> bool:
        return await data(agent, "my-b") == {"size": "2"}

    await eventually(is_deployed, within=120)
