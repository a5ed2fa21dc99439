"""Argo CD's Secret of a cluster: what is read of it, and how it is refused."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

from agent.git.credentials import Secret
from agent.kube.cluster_auth import BasicAuth, BearerAuth, connection_of
from agent.kube.cluster_config import ClusterSecretError
from agent.kube.cluster_registry import ClusterRegistry
from agent.kube.cluster_secret import ClusterSecret, read_cluster_secret
from agent.kube.connection_config import KubeConfigError
from handlers.application.destination import IN_CLUSTER_SERVER, DestinationCluster
from handlers.ports import DestinationUnknownError

SERVER = "https://10.0.0.1:6443"
CANARY = "c4nary-value"
PEM = b64encode(f"-----BEGIN CERTIFICATE-----\n{CANARY}\n".encode()).decode()


def secret(called: str = "prod", /, config: Any = None, **fields: str) -> Secret:
    written = config if isinstance(config, str) else json.dumps(config or {})
    data = {"server": SERVER, "name": "prod", "config": written, **fields}
    return Secret(namespace="argocd", name=called, labels={}, data=data)


def read(config: Any = None, **fields: str) -> ClusterSecret:
    return read_cluster_secret(secret(config=config, **fields))


def test_the_server_is_canonical_and_the_default_name() -> None:
    found = read(server=" HTTPS://10.0.0.1:6443/ ", name="")
    assert found.registered.cluster == DestinationCluster(server=SERVER, name=SERVER)


def test_a_token_or_a_password_is_the_login() -> None:
    assert read({"bearerToken": "t"}).auth == BearerAuth("t")
    assert read({"username": "u", "password": "p"}).auth == BasicAuth("u", "p")


def test_the_extent_and_the_project_are_read() -> None:
    found = read(namespaces="shop, blog,,shop", project="team").registered
    assert (found.namespaces, found.cluster_resources) == (("shop", "blog"), False)
    assert found.project == "team"
    assert read(namespaces="shop", clusterResources="true").registered.cluster_resources
    assert read().registered.cluster_resources


WRONG: dict[str, tuple[Any, dict[str, str], str]] = {
    "no JSON": (f"{{{CANARY}", {}, "field config: expected a JSON object"),
    "a list": ("[]", {}, "field config"),
    "a field of another type": ({"bearerToken": [CANARY]}, {}, "$.bearerToken"),
    "endless nesting": ("[" * 100_000, {}, "field config"),
    "too long": ("x" * 300_000, {}, "field config"),
    "token with a line break": ({"bearerToken": f"{CANARY}\n"}, {}, "config.bearerToken"),
    "token and password": ({"username": "u", "bearerToken": CANARY}, {}, "config.bearerToken"),
    "authority that is no base64": (
        {"tlsClientConfig": {"caData": f"{CANARY}%"}},
        {},
        "config.tlsClientConfig.caData",
    ),
    "authority that is no PEM": (
        {"tlsClientConfig": {"caData": b64encode(CANARY.encode()).decode()}},
        {},
        "config.tlsClientConfig.caData",
    ),
    "authority and insecure": (
        {"tlsClientConfig": {"caData": PEM, "insecure": True}},
        {},
        "config.tlsClientConfig.insecure",
    ),
    "certificate without key": (
        {"tlsClientConfig": {"certData": PEM}},
        {},
        "config.tlsClientConfig.certData",
    ),
    "another kind of proxy": (
        {"proxyUrl": f"socks4://{CANARY}@proxy:1080"},
        {},
        "config.proxyUrl",
    ),
    "no server": (None, {"server": ""}, "field server"),
    "a server that is no address": (None, {"server": "ssh://x"}, "field server"),
    "the name of the own cluster": (None, {"name": "in-cluster"}, "field name"),
}


@pytest.mark.parametrize(("config", "fields", "place"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named_and_quotes_no_secret(
    config: Any, fields: dict[str, str], place: str
) -> None:
    with pytest.raises(ClusterSecretError) as error:
        read(config, **fields)
    assert "Secret argocd/prod" in str(error.value)
    assert place in str(error.value)
    assert CANARY not in str(error.value)


async def test_a_certificate_that_cannot_be_read_is_refused_when_connecting() -> None:
    tls = read({"tlsClientConfig": {"certData": PEM, "keyData": PEM}}).tls
    with pytest.raises(KubeConfigError, match="certData and keyData") as error:
        await connection_of(SERVER, tls, BearerAuth("t"))
    assert CANARY not in str(error.value)


def test_no_value_shows_a_credential() -> None:
    config = {"bearerToken": CANARY, "proxyUrl": f"http://u:{CANARY}@proxy"}
    assert CANARY not in repr(read(config))
    assert CANARY not in repr(read({"username": "u", "password": CANARY}))


def test_a_destination_is_found_by_server_and_by_name() -> None:
    registry = ClusterRegistry([secret()])
    by_name = registry.find(DestinationCluster.named("prod"))
    assert by_name == registry.find(DestinationCluster.at(f"{SERVER}/"))


def test_a_destination_without_a_secret_is_gone() -> None:
    for destination in (DestinationCluster.at("https://x"), DestinationCluster.named("x")):
        with pytest.raises(DestinationUnknownError) as error:
            ClusterRegistry([secret()]).find(destination)
        assert error.value.gone


def test_a_destination_is_not_gone_while_a_secret_cannot_be_read() -> None:
    """It may be the very Secret that describes the cluster: nothing is given up for it."""
    with pytest.raises(DestinationUnknownError) as error:
        ClusterRegistry([secret(server="")]).find(DestinationCluster.at(SERVER))
    assert not error.value.gone


@pytest.mark.parametrize("fields", [{"server": SERVER}, {"server": "https://other"}])
def test_a_name_of_two_secrets_names_both_in_the_error(fields: dict[str, str]) -> None:
    registry = ClusterRegistry([secret("one"), secret("two", **fields)])
    with pytest.raises(DestinationUnknownError, match="argocd/one, argocd/two") as error:
        registry.find(DestinationCluster.named("prod"))
    assert not error.value.gone


def test_a_secret_may_rename_the_own_cluster_but_not_log_in_to_it() -> None:
    here = {"server": IN_CLUSTER_SERVER, "name": "here"}
    found = ClusterRegistry([secret(**here)]).find(DestinationCluster.named("here"))
    assert not isinstance(found, ClusterSecret)
    assert found.cluster == DestinationCluster(server=IN_CLUSTER_SERVER, name="here")
    registry = ClusterRegistry([secret(config={"bearerToken": CANARY}, **here)])
    with pytest.raises(DestinationUnknownError, match="a login for the agent's own cluster"):
        registry.find(DestinationCluster.named("in-cluster"))
