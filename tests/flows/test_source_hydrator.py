"""Applications with a source hydrator: what people write becomes commits of manifests."""

from __future__ import annotations

import json
from typing import Any

import pygit2
import pytest

from handlers.control_plane.governance import GOVERNED
from playground.githost import GitHost, HostedRepository, HostLogin
from playground.gitstore import Gitlink
from tests.flows.agent_fixture import APPLICATIONS, SERVER, AgentFixture, conditions, config_map
from tests.flows.agent_process import agent_process, prepared
from tests.flows.killed_agent import VARIABLE

DYING = ("-m", "tests.flows.killed_agent")
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
    metadata = {"name": name, "annotations": hydrator.pop("annotations", {})}
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
            "metadata": {**metadata, "namespace": agent.namespace},
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


async def test_applications_of_a_branch_are_one_commit_or_none(hydrating: AgentFixture) -> None:
    agent, repository = hydrating, hydrating.repository
    sha = agent.commit(
        {"web/a.yaml": config_map("a", of="web"), "api/b.yaml": config_map("b", of="api")}
    )
    await apply(agent, "web", "web")
    await until_hydrated(agent, "web", sha)
    # One that comes later needs no new commit of the dry source.
    await apply(agent, "api", "api")
    operation = await until_hydrated(agent, "api", sha)
    assert repository.head("environments/dev") == operation["hydratedSHA"]

    broken = agent.commit({"web/a.yaml": config_map("a", of="both"), "api/b.yaml": "kind: ["})
    await until_failed(agent, "api", "api/b.yaml")
    app = await until_failed(agent, "web", f"{agent.namespace}/api of the same branch cannot be")
    assert app["status"]["sourceHydrator"]["currentOperation"]["drySHA"] == broken
    assert app["status"]["sourceHydrator"]["lastSuccessfulOperation"]["drySHA"] == sha
    assert repository.head("environments/dev") == operation["hydratedSHA"]
    assert await data(agent, "a") == {"of": "web"}

    both = agent.commit({"api/b.yaml": config_map("b", of="both")})
    made = await until_hydrated(agent, "web", both)
    await until_hydrated(agent, "api", both)
    await agent.until(lambda app: not conditions(app), app="web")
    await agent.until(lambda app: not conditions(app), app="api")
    (parent,) = git(repository)[made["hydratedSHA"]].parent_ids
    assert str(parent) == operation["hydratedSHA"]
    assert await data(agent, "a") == {"of": "both"}
    assert await data(agent, "b") == {"of": "both"}


async def test_what_keeps_a_branch_from_being_written_is_a_condition_until_it_is_mended(
    agent: AgentFixture,
) -> None:
    repository = agent.repository
    repository.login = LOGIN
    await credential(agent, repository.url, "repository")
    sha = agent.commit({"web/a.yaml": config_map("a", size="1")})
    await apply(agent, "web", "web")
    await until_failed(agent, "web", "hydrator.enabled of the ConfigMap argocd-cmd-params-cm")
    await enable(agent)
    await until_failed(agent, "web", "secret-type: repository-write")
    assert "refs/heads/environments/dev" not in repository.references()
    await credential(agent, repository.url, "repository-write")
    await until_hydrated(agent, "web", sha)
    await agent.until(lambda app: not conditions(app), app="web")

    agent.commit({"web/s.yaml": SECRET})
    await until_failed(agent, "web", "Secret login would be committed with readable values")
    assert repository.read("apps/web/manifest.yaml", branch="environments/dev") is not None
    sealed = agent.commit({"web/s.yaml": None})
    await until_hydrated(agent, "web", sealed)


async def test_the_control_plane_has_nothing_written_to_git(hydrating: AgentFixture) -> None:
    agent = hydrating
    agent.commit({"web/a.yaml": config_map("a", size="1")})
    await apply(agent, "broken", "none")
    await until_failed(agent, "broken", "none")
    # What is tried again for another Application of the branch holds nothing back.
    await apply(agent, "web", "web", annotations={GOVERNED: "service"})
    await until_failed(agent, "web", "over the link")
    assert "refs/heads/environments/dev" not in agent.repository.references()


SECRET = """
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {password: readable}
"""


async def test_a_kill_after_the_push_leads_to_no_second_commit(stopped_agent: AgentFixture) -> None:
    agent, repository = stopped_agent, stopped_agent.repository
    await enable(agent)
    await credential(agent, repository.url, "repository-write")
    sha = agent.commit({"web/a.yaml": config_map("a", size="1")})
    await apply(agent, "web", "web")
    dying = prepared(agent, "dying", DYING, **{VARIABLE: "after:push"})
    await dying.until_killed()
    pushed = repository.head("environments/dev")
    assert NOTES not in repository.references()
    async with agent_process(agent):
        operation = await until_hydrated(agent, "web", sha)
    assert operation["hydratedSHA"] == pushed == repository.head("environments/dev")
    assert note_of(repository, pushed) == {"drySha": sha}


async def test_a_branch_for_review_is_written_and_the_deployed_one_is_not(
    hydrating: AgentFixture,
) -> None:
    agent, repository = hydrating, hydrating.repository
    sha = agent.commit({"web/a.yaml": config_map("a", size="1")})
    await apply(agent, "web", "web", hydrateTo={"targetBranch": "environments/dev-next"})

    def holds(app: dict[str, Any]) -> bool:
        found = app.get("status", {}).get("sourceHydrator", {}).get("currentOperation", {})
        return bool(found.get("drySHA") == sha and found.get("phase") == "Hydrated")

    await agent.until(holds, app="web")
    proposed = repository.head("environments/dev-next")
    base = repository.head("environments/dev")
    assert [str(one) for one in git(repository)[proposed].parent_ids] == [base]
    assert repository.read("apps/web/manifest.yaml", branch="environments/dev") is None

    before = repository.references()
    git(repository).references["refs/heads/environments/dev"].set_target(proposed)
    repository.announce(before)
    await agent.until(lambda app: app["status"]["sync"].get("revision") == proposed, app="web")
    await agent.until_synced("web")
    assert await data(agent, "a") == {"size": "1"}


def is_done(app: dict[str, Any]) -> bool:
    return "argocd.argoproj.io/hydrate" not in app["metadata"].get("annotations", {})


async def test_a_person_has_it_hydrated_again(hydrating: AgentFixture) -> None:
    agent = hydrating
    sha = agent.commit({"web/a.yaml": config_map("a", size="1")})
    await apply(agent, "web", "web")
    await until_hydrated(agent, "web", sha)
    # Somebody has edited the branch: nothing looks at it until somebody asks.
    path = "apps/web/manifest.yaml"
    agent.repository.commit({path: config_map("a", size="9")}, branch="environments/dev")
    note = {"metadata": {"annotations": {"argocd.argoproj.io/hydrate": "hard"}}}
    await agent.patch_app("web", note)
    await agent.until(is_done, app="web")
    await until_hydrated(agent, "web", sha)
    written = agent.repository.read(path, branch="environments/dev")
    assert written is not None
    assert b'size: "1"' in written


async def test_a_dry_source_has_its_submodules_and_is_no_branch_that_it_writes(
    hydrating: AgentFixture, git_host: GitHost
) -> None:
    agent, repository = hydrating, hydrating.repository
    lib = git_host.create(f"{repository.name}-lib")
    pinned = lib.commit({"a.yaml": config_map("a")})
    module = f'[submodule "lib"]\n\tpath = lib\n\turl = {lib.url}\n'
    dry = repository.commit({".gitmodules": module, "lib": Gitlink(pinned)})
    # HEAD is main, which no name says.
    await apply(
        agent,
        "web",
        "lib",
        dry={"targetRevision": "HEAD"},
        syncSource={"targetBranch": "main", "path": "apps/web"},
    )
    await until_failed(agent, "web", "it reads the branch that it writes")
    written = git(repository)[repository.head("main")]
    assert [str(one) for one in written.parent_ids] == [dry]
    assert b"name: a" in (repository.read("apps/web/manifest.yaml") or b"")
