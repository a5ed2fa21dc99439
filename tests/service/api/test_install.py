"""What is generated to install an agent: valid, least rights, without a secret."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from service.api.install.objects import objects
from service.api.install.options import Feature, Options, Scope
from service.api.install.overlay import difference
from service.api.install.render import as_kustomize, as_yaml, dump
from tests.service.api.world import World

_LIMITS = "gitops-agent-limits"
ROOT = Path(__file__).parents[3]


def options(**more: object) -> Options:
    plain = {
        "account": "acme",
        "agent": "prod",
        "service_url": "https://gitops.example",
        "version": "1.2.3",
    }
    return Options(**{**plain, **more})  # type: ignore[arg-type]


def kinds(chosen: Options) -> set[str]:
    return {it["kind"] for it in yaml.safe_load_all(as_yaml(chosen)) if it}


def rules(chosen: Options) -> list[dict[str, list[str]]]:
    return [rule for it in objects(chosen) for rule in it.get("rules", ())]


def test_the_yaml_is_what_was_meant() -> None:
    assert [it for it in yaml.safe_load_all(as_yaml(options())) if it] == objects(options())


def test_in_one_namespace_nothing_reaches_the_cluster() -> None:
    assert "ClusterRole" in kinds(options())
    here = options(scope=Scope.NAMESPACE)
    assert not {"ClusterRole", "ClusterRoleBinding"} & kinds(here)
    assert "GITOPS_DESTINATION_NAMESPACES" in as_yaml(here)


@pytest.mark.parametrize("scope", list(Scope))
@pytest.mark.parametrize(
    "features", [frozenset(), frozenset({Feature.SYNC}), frozenset(Feature)], ids=str
)
def test_no_choice_gives_all_rights_or_lets_it_write_roles(
    scope: Scope, features: frozenset[Feature]
) -> None:
    for rule in rules(options(scope=scope, features=features)):
        assert "*" not in rule["verbs"] + rule["resources"] + rule["apiGroups"]
        assert "rbac.authorization.k8s.io" not in rule["apiGroups"]
        assert "pods/exec" not in rule["resources"]


def test_without_sync_the_agent_writes_nothing_at_its_destinations() -> None:
    looking = options(features=frozenset())
    (role,) = [it for it in objects(looking) if it["kind"] == "ClusterRole"]
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"get", "list", "watch"}


def test_without_manage_the_agent_deletes_nothing_at_home() -> None:
    (home, *_) = [it for it in objects(options(features=frozenset())) if it["kind"] == "Role"]
    verbs = {verb for rule in home["rules"] for verb in rule["verbs"]}
    assert "delete" not in verbs
    written = [rule for rule in home["rules"] if "update" in rule["verbs"]]
    assert {name for rule in written for name in rule.get("resourceNames", ())} == {
        "gitops-agent-keys",
        "gitops-agent-link",
        "gitops-nats-logins",
        "gitops-nats-logins-subscriber",
    }


def test_the_control_plane_that_may_only_look_is_told_so_in_the_cluster() -> None:
    def limits(chosen: Options) -> list[object]:
        return [it["data"] for it in objects(chosen) if it["metadata"]["name"] == _LIMITS]

    assert limits(options(read_only=True)) == [{"readOnly": "true"}]
    assert limits(options()) == [{"namespaces": "*"}]
    assert limits(options(scope=Scope.NAMESPACE, namespace="team")) == [{"namespaces": "team"}]


def test_definitions_are_left_to_an_argo_cd_that_brings_them() -> None:
    assert "CustomResourceDefinition" in kinds(options())
    assert "CustomResourceDefinition" not in kinds(options(definitions=False))
    assert "$patch" in as_kustomize(options(definitions=False))


def test_it_manages_the_kinds_that_the_chart_manages() -> None:
    chart = yaml.safe_load((ROOT / "deploy/chart/values.yaml").read_text())
    meant = {
        (group, kind)
        for it in chart["managed"]
        for group in it["apiGroups"]
        for kind in it["resources"]
    }
    (role,) = [it for it in objects(options()) if it["kind"] == "ClusterRole"]
    written = [rule for rule in role["rules"] if "delete" in rule["verbs"]]
    assert {(it["apiGroups"][0], kind) for it in written for kind in it["resources"]} == meant


def test_logs_are_a_right_of_their_own() -> None:
    def readable(features: frozenset[Feature]) -> bool:
        return any("pods/log" in it["resources"] for it in rules(options(features=features)))

    assert readable(frozenset({Feature.LOGS}))
    assert not readable(frozenset({Feature.SYNC}))


def test_registry_proxy_and_authorities_reach_the_pod() -> None:
    chosen = options(
        registry="registry.example/mirror",
        pull_secret="pull",
        proxy="http://proxy:3128",
        ca_secret="ca",
    )
    (deployment,) = [it for it in objects(chosen) if it["kind"] == "Deployment"]
    (nats,) = [it for it in objects(chosen) if it["kind"] == "StatefulSet"]
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    env = {it["name"]: it.get("value") for it in container["env"]}
    assert container["image"] == "registry.example/mirror/gitops-house/agent:1.2.3"
    assert pod["imagePullSecrets"] == [{"name": "pull"}]
    assert env["HTTPS_PROXY"] == "http://proxy:3128"
    assert env["GITOPS_LINK_CA"] == "/etc/gitops/link-ca/ca.crt"
    own = nats["spec"]["template"]["spec"]
    assert own["containers"][0]["image"] == "registry.example/mirror/nats:2.12-alpine"
    assert own["imagePullSecrets"] == [{"name": "pull"}]


def test_ports_of_the_service_and_the_proxy_are_let_out() -> None:
    chosen = options(service_url="https://gitops.example:8443", proxy="http://proxy:3128")
    (policy,) = [
        it
        for it in objects(chosen)
        if it["kind"] == "NetworkPolicy" and it["metadata"]["name"] == "gitops-agent"
    ]
    ports = {port["port"] for rule in policy["spec"]["egress"] for port in rule["ports"]}
    assert {8443, 3128, 443} <= ports


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, JSON)
def test_the_difference_leads_from_one_to_the_other(before: object, after: object) -> None:
    """Applied as RFC 6902 says, operation by operation."""
    document = {"value": before}
    for op in difference(document, {"value": after}):
        *path, last = (it.replace("~1", "/").replace("~0", "~") for it in op["path"].split("/")[1:])
        place: Any = document
        for token in path:
            place = place[int(token)] if isinstance(place, list) else place[token]
        if op["op"] == "remove":
            del place[last]
        elif isinstance(place, list):
            place[int(last)] = op["value"]
        else:
            place[last] = op["value"]
    assert document == {"value": after}


@given(JSON)
def test_what_is_written_is_what_is_read(value: object) -> None:
    assert yaml.safe_load(dump(value)) == value


@pytest.mark.flow
async def test_the_manifest_is_served_in_every_form(world: World) -> None:
    viewer = await world.person("viewer")
    path = f"/agents/{await world.agent('prod')}/manifest"
    for form in ("yaml", "helm", "kustomize"):
        answer = await viewer.get(f"{path}?format={form}&namespace=tools&scope=namespace")
        assert answer.status == 200
        assert any(yaml.safe_load_all(answer.raw))
        assert f"http://{world.server.host}" in answer.raw.decode()


@pytest.mark.flow
@pytest.mark.parametrize(
    "wrong",
    [
        "proxy=http://me:x7canary@proxy:3128",
        "proxy=http://p%0A-%20evil",
        "namespace=Upper",
        "features=everything",
        "registry=a%0Ab",
        "pullSecret=%7B%7D",
    ],
)
async def test_what_could_become_structure_is_refused(world: World, wrong: str) -> None:
    viewer = await world.person("viewer")
    answer = await viewer.get(f"/agents/{await world.agent('prod')}/manifest?{wrong}")
    assert answer.status == 422
    assert answer.body["field"] == wrong.partition("=")[0]
    assert "x7canary" not in answer.raw.decode()
