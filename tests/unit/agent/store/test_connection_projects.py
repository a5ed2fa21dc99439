"""What the Secrets of repositories and clusters add to their projects."""

from __future__ import annotations

import pytest

from agent.bridge.tasks.executors.connection_secret import ConnectionIdentity
from agent.bridge.tasks.executors.connections import name_of
from agent.git.credentials import SECRET_TYPE, Secret
from agent.store.connection_projects import ConnectionProjects
from agent.store.projects import Projects
from handlers.application.application import ProjectDestination
from handlers.application.project_connections import ProjectConnections
from tests.unit.handlers.application.builders import project

REPO = "https://git.example/team/apps"
SERVER = "https://prod.example:6443"
OF_LINK = ConnectionIdentity("Repository", REPO, "team")
BEFORE_MARKS = name_of(OF_LINK)
CLUSTER_BEFORE_MARKS = name_of(ConnectionIdentity("Cluster", SERVER))


def secret(kind: str, *, governed: bool = False, name: str = "s", **data: str) -> Secret:
    labels = {SECRET_TYPE: kind}
    return Secret(namespace="argocd", name=name, labels=labels, data=data, governed=governed)


def noted(*secrets: Secret) -> ConnectionProjects:
    connections = ConnectionProjects()
    for one in secrets:
        connections.note(one, present=True)
    return connections


def test_a_repository_and_the_namespaces_of_a_cluster_are_added() -> None:
    of_team = noted(
        secret("repository", name="a", url=REPO, project="team"),
        secret("cluster", name="b", server=SERVER, project="team", namespaces="web, shop"),
        secret("cluster", name="c", server=f"{SERVER}/other", project="team"),
        secret("repository", name="d", url=f"{REPO}/other", project="others"),
    ).of("team")

    assert of_team.source_repos == (REPO,)
    assert of_team.destinations == (
        ProjectDestination(server=SERVER, namespace="web"),
        ProjectDestination(server=SERVER, namespace="shop"),
        ProjectDestination(server=f"{SERVER}/other", namespace="*"),
    )


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(secret("repository", url=REPO, project="team", governed=True), id="link"),
        pytest.param(
            secret("repository", name=BEFORE_MARKS, url=REPO, project="team"), id="link, unmarked"
        ),
        pytest.param(
            secret("cluster", name=CLUSTER_BEFORE_MARKS, server=SERVER, project="team"),
            id="cluster of the link, unmarked",
        ),
        pytest.param(secret("repo-creds", url=REPO, project="team"), id="a template"),
        pytest.param(secret("repository", url="https://git.example/*", project="team"), id="*"),
        pytest.param(secret("repository", url="!", project="team"), id="no address"),
        pytest.param(secret("cluster", server="*", project="team"), id="no server"),
        pytest.param(
            secret("cluster", server=SERVER, namespaces="team-*", project="team"), id="a pattern"
        ),
        pytest.param(secret("repository", url=REPO), id="of no project"),
    ],
)
def test_these_secrets_add_nothing(one: Secret) -> None:
    assert noted(one).of("team") == ProjectConnections()


def test_both_projects_hear_of_a_secret_that_moves_and_none_of_one_that_stays() -> None:
    connections, heard = noted(secret("repository", url=REPO, project="team")), list[str]()
    connections.changes.subscribe(heard.append)

    connections.note(secret("repository", url=REPO, project="team", password="new"), present=True)
    assert heard == []
    moved = secret("repository", url=REPO, project="others")
    connections.note(moved, present=True)
    assert sorted(heard) == ["others", "team"]
    connections.note(moved, present=False)
    assert connections.of("others") == ProjectConnections()


def test_a_project_has_what_secrets_add_until_they_go() -> None:
    one = secret("repository", url=REPO, project="default")
    connections = noted(one)
    projects = Projects(connections=connections.of)
    connections.changes.subscribe(projects.connections_changed)
    projects.put(project({"sourceRepos": []}))

    def permitted() -> tuple[str, ...]:
        found = projects.get("default")
        return found.spec.source_repos if found is not None else ()

    assert permitted() == (REPO,)
    connections.note(one, present=False)
    assert permitted() == ()
    assert projects.written()[0].spec.source_repos == ()
