"""Applications with a source hydrator: what people write becomes commits of manifests."""

from __future__ import annotations

import json
from typing import Any

import pygit2
import pytest

from playground.githost import HostedRepository, HostLogin
from tests.flows.agent_fixture import APPLICATIONS, SERVER, AgentFixture, conditions, config_map

NOTES = "refs/notes/hydrator.metadata"
LOGIN = HostLogin(user="hydrator", password="a password that may push")
AUTOMATED = {"automated": {"prune": True, "selfHeal": True}}


async def enable(agent: AgentFixture, **data: str) -> None:
    await agent.api.create(
        f"/api/v1/namespaces/{agent.namespace}/configmaps",
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "argocd-cmd-params-cm"},
            "data": {"hydrator.enabled": "true", **data},
        },
    )


async def credential(agent: AgentFixture, url: str, type_: str, login: HostLogin = LOGIN) -> None:
    name = f"{type_}-{abs(hash(url)) % 10**8}"
    await agent.api.apply(
        f"/api/v1/namespaces/{agent.namespace}/secrets/{name}",
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "labels": {"argocd.argoproj.io/secret-type": type_}},
            "stringData": {"url": url, "username": login.user, "password": login.password},
        },
    )


async def apply(agent: AgentFixture, name: str, path: str, **hydrator: Any) -> None:
    spec = {
        "drySource": {
            "repoURL": agent.repository.url,
            "targetRevision": "main",
            "path": path,
            **hydrator.pop("dry", {}),
        },
        "syncSource": {"targetBranch": "environments/dev", "path": f"apps/{name}"},
        **hydrator,
    }
    await agent.api.apply(
        f"{APPLICATIONS.format(agent.namespace)}/{name}",
        {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Application",
            "metadata": {"name": name, "namespace": agent.namespace},
            "spec": {
                "project": "default",
                "sourceHydrator": spec,
                "destination": {"server": SERVER, "namespace": agent.destination},
                "syncPolicy": AUTOMATED,
            },
        },
    )


async def until_hydrated(agent: AgentFixture, name: str, dry: str) -> dict[str, Any]:
    """Wait until the manifests of a dry commit are deployed; returns the operation."""

    def holds(app: dict[str, Any]) -> bool:
        status = app.get("status", {})
        operation = status.get("sourceHydrator", {}).get("currentOperation", {})
        return (
            operation.get("drySHA") == dry
            and operation.get("phase") == "Hydrated"
            and status.get("sync", {}).get("status") == "Synced"
            and status.get("sync", {}).get("revision") == operation.get("hydratedSHA")
        )

    app = await agent.until(holds, app=name)
    found: dict[str, Any] = app["status"]["sourceHydrator"]["currentOperation"]
    return found


async def until_failed(agent: AgentFixture, name: str, text: str) -> dict[str, Any]:
    def holds(app: dict[str, Any]) -> bool:
        return text in conditions(app).get("HydrationError", "")

    return await agent.until(holds, app=name)


def git(repository: HostedRepository) -> pygit2.Repository:
    return pygit2.Repository(str(repository.folder))


def note_of(repository: HostedRepository, commit: str) -> dict[str, str]:
    found: dict[str, str] = json.loads(git(repository).lookup_note(commit, NOTES).message)
    return found


async def data(agent: AgentFixture, name: str) -> dict[str, str] | None:
    found = await agent.get(f"configmaps/{name}")
    return found.get("data") if found is not None else None


@pytest.fixture
async def hydrating(agent: AgentFixture) -> AgentFixture:
    """The agent may hydrate, and push to the repository of the test."""
    await enable(agent)
    agent.repository.login = LOGIN
    await credential(agent, agent.repository.url, "repository")
    await credential(agent, agent.repository.url, "repository-write")
    return agent


async def test_a_push_is_hydrated_and_deployed(hydrating: AgentFixture) -> None:
    agent, repository = hydrating, hydrating.repository
    first = agent.commit({"web/a.yaml": config_map("a", size="1")})
    await apply(agent, "web", "web")
    operation = await until_hydrated(agent, "web", first)
    assert await data(agent, "a") == {"size": "1"}
    head = repository.head("environments/dev")
    assert operation["hydratedSHA"] == head
    assert note_of(repository, head) == {"drySha": first}
    assert repository.read("apps/web/manifest.yaml", branch="environments/dev") == (
        b'---\napiVersion: v1\ndata:\n  size: "1"\nkind: ConfigMap\nmetadata:\n  name: a\n'
    )
    written = repository.read("hydrator.metadata", branch="environments/dev")
    metadata = json.loads(written or b"")
    assert metadata["drySha"] == first
    assert metadata["repoURL"] == repository.url
    assert metadata["subject"] == "change"
    commit = git(repository)[head]
    assert commit.message.startswith(f"{first[:7]}: change\n")
    assert (commit.author.name, commit.author.email) == ("Argo CD", "argo-cd@example.com")

    # A commit that changes no manifest is noted, and nothing is committed.
    same = agent.commit({"README.md": "words"})
    await until_hydrated(agent, "web", same)
    assert repository.head("environments/dev") == head
    assert note_of(repository, head) == {"drySha": same}

    second = agent.commit({"web/a.yaml": config_map("a", size="2")})
    await until_hydrated(agent, "web", second)
    assert await data(agent, "a") == {"size": "2"}
    last = git(repository)[repository.head("environments/dev")]
    assert [str(one) for one in last.parent_ids] == [head]
