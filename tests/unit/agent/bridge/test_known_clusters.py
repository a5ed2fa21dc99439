"""What a control plane may not do with the Secrets of clusters, as a function of what is known."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agent.bridge.tasks.executors.connection_secret import (
    ConnectionIdentity,
    check_login_replaceable,
    written,
)
from agent.bridge.tasks.executors.known_clusters import KnownClusters
from agent.bridge.tasks.task_context import TaskFailedError
from agent.git.credentials import SECRET_TYPE, Secret
from bus.identity import AppKey
from bus.link import PutArguments
from handlers.application.spec import Destination
from handlers.control_plane.policy import ControlPlanePolicy

PROD = "https://prod.example.test:6443"
EVIL = "https://evil.example.test"
SHOP = AppKey("argocd", "shop")


def secret(data: dict[str, str], kind: str = "cluster") -> Secret:
    labels = {SECRET_TYPE: kind}
    return Secret(namespace="argocd", name="cluster-prod", labels=labels, data=data)


def known(
    *secrets: Secret, clusters: tuple[str, ...] = ("*",), destination: Destination | None = None
) -> KnownClusters:
    """`destination` is that of the Application argocd/shop."""
    return KnownClusters(
        secrets=secrets,
        destinations={SHOP: destination} if destination else {},
        policy=ControlPlanePolicy(clusters=clusters),
    )


def refusal(check: Callable[[], object]) -> str:
    with pytest.raises(TaskFailedError) as error:
        check()
    assert error.value.code in ("not_allowed", "conflict")
    return str(error.value)


def changed(live: dict[str, str], name: str) -> dict[str, str]:
    args = PutArguments(kind="Cluster", name=name, spec={"server": PROD})
    return written(live, args, ConnectionIdentity.of(args), {})


@pytest.mark.parametrize(
    ("live", "name"),
    [
        ({"server": PROD, "name": "prod"}, "prod-old"),
        ({"server": PROD, "name": "prod"}, PROD),
        ({"server": PROD}, "prod"),
    ],
)
def test_a_cluster_keeps_its_name(live: dict[str, str], name: str) -> None:
    message = refusal(lambda: changed(live, name))
    assert live.get("name", PROD) in message
    assert "its owner" in message


TOKEN, EXEC = '{"bearerToken": "t"}', '{"execProviderConfig": {"command": "aws"}}'


@pytest.mark.parametrize(
    ("config", "over_link", "is_refused"),
    [
        pytest.param("", False, False, id="no login yet"),
        pytest.param("{}", False, False, id="an empty one"),
        pytest.param(TOKEN, True, False, id="one that came over the link"),
        pytest.param(TOKEN, False, True, id="one of a person"),
        pytest.param(EXEC, True, True, id="one that a person changed since"),
    ],
)
def test_a_login_that_a_person_wrote_stays(
    *, config: str, over_link: bool, is_refused: bool
) -> None:
    def check() -> None:
        check_login_replaceable({"config": config}, over_link=over_link)

    if is_refused:
        assert "the owner of the cluster" in refusal(check)
    else:
        check()


@pytest.mark.parametrize("name", ["", "prod", " prod "])
def test_a_put_may_repeat_the_name_of_a_cluster(name: str) -> None:
    live = {"server": PROD, "name": "prod", "config": "{}"}
    assert changed(live, name) == live


@pytest.mark.parametrize("name", ["prod", " prod "])
def test_no_new_cluster_takes_a_name_that_an_application_uses(name: str) -> None:
    message = refusal(lambda: known(destination=Destination(name="prod")).check_new(EVIL, name))
    assert "argocd/shop" in message
    assert "prod" in message


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ({"server": PROD, "name": "prod"}, "prod"),
        ({"server": "HTTPS://prod.example.test:6443/"}, PROD),
        ({"server": "no address", "name": "prod"}, "prod"),
    ],
)
def test_no_new_cluster_takes_the_name_of_another_one(data: dict[str, str], name: str) -> None:
    assert "cluster-prod" in refusal(lambda: known(secret(data)).check_new(EVIL, name))


def test_no_new_cluster_takes_the_name_of_the_agents_own() -> None:
    assert "in-cluster" in refusal(lambda: known().check_new(EVIL, "in-cluster"))


def test_a_cluster_whose_name_and_server_are_new_is_taken() -> None:
    other = secret({"name": "staging", "url": EVIL}, kind="repository")
    prod = secret({"server": PROD, "name": "prod"})
    known(other, prod, destination=Destination(name="prod")).check_new(EVIL, "staging")


@pytest.mark.parametrize("name", ["", "prod-2"])
def test_a_server_has_one_secret(name: str) -> None:
    there = secret({"server": "HTTPS://prod.example.test:6443/", "name": "prod", "project": "shop"})
    message = refusal(lambda: known(there).check_new(PROD, name))
    assert "cluster-prod" in message
    assert PROD in message


def test_two_puts_of_a_server_for_two_projects_are_about_one_secret() -> None:
    names = {
        ConnectionIdentity.of(
            PutArguments(kind="Cluster", project=project, spec={"server": PROD})
        ).text
        for project in ("", "shop", "blog")
    }
    assert names == {PROD}


def test_the_agents_own_cluster_is_not_put() -> None:
    assert "own cluster" in refusal(lambda: known().check_server("https://kubernetes.default.svc"))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("namespaces", "shop"),
        ("clusterResources", "false"),
        ("project", "shop"),
        ("shard", "1"),
        ("config", '{"execProviderConfig": {"command": "login"}}'),
        ("config", '{"proxyUrl": "http://proxy.test"}'),
        ("config", "no JSON"),
    ],
)
def test_a_secret_with_fields_of_its_owner_is_not_deleted(field: str, value: str) -> None:
    data = {"server": PROD, "name": "prod", field: value}
    check = known().check_deletion
    assert field in refusal(lambda: check("cluster-prod", data, over_link=True))


def test_a_secret_that_was_not_made_over_the_link_is_not_deleted() -> None:
    check = known().check_deletion
    message = refusal(lambda: check("cluster-prod", {"server": PROD}, over_link=False))
    assert "not made over the link" in message


@pytest.mark.parametrize(
    "destination",
    [{"name": "prod"}, {"server": PROD}, {"server": "HTTPS://prod.example.test:6443/"}],
)
def test_a_secret_that_an_application_uses_is_not_deleted(destination: dict[str, str]) -> None:
    data = {"server": PROD, "name": "prod"}
    check = known(destination=Destination(**destination)).check_deletion
    assert "argocd/shop" in refusal(lambda: check("cluster-prod", data, over_link=True))


def test_a_secret_of_the_link_that_nobody_uses_is_deleted() -> None:
    login = {"config": '{"bearerToken": "x", "tlsClientConfig": {"insecure": false}}'}
    data = {"server": PROD, "name": "prod", "depth": "1", "project": "", **login}
    known(destination=Destination(server=EVIL)).check_deletion("cluster-prod", data, over_link=True)


def test_no_server_outside_the_policy_is_put() -> None:
    here = known(clusters=("in-cluster", "https://prod.*"))
    here.check_server(PROD)
    message = refusal(lambda: here.check_server(EVIL))
    assert EVIL in message
    assert "gitops-agent-limits" in message
