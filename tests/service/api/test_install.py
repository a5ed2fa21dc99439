"""What is generated to install an agent: valid, least rights, without a secret."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from handlers.control_plane.policy import read_policy
from service.api.agents.install.objects import objects
from service.api.agents.install.options import (
    InstallFeature,
    InstallOptions,
    InstallScope,
    KindName,
    RightsProfile,
)
from service.api.agents.install.overlay import difference
from service.api.agents.install.render import as_kustomize, as_yaml, dump
from tests.paths import REPOSITORY
from tests.service.api.api_fixture import ApiFixture

_LIMITS = "gitops-agent-limits"
_SHOP = {"scope": InstallScope.NAMESPACE, "destination": "shop"}
_WIDGETS = KindName.parse("widgets.example.org")
ROOT = REPOSITORY


def options(**more: object) -> InstallOptions:
    plain = {
        "account": "acme",
        "agent": "prod",
        "service_url": "https://gitops.example",
        "version": "1.2.3",
    }
    return InstallOptions(**{**plain, **more})  # type: ignore[arg-type]


def kinds(chosen: InstallOptions) -> set[str]:
    return {it["kind"] for it in yaml.safe_load_all(as_yaml(chosen)) if it}


def rules(chosen: InstallOptions) -> list[dict[str, list[str]]]:
    return [rule for it in objects(chosen) for rule in it.get("rules", ())]


def test_the_yaml_of_an_installation_reads_back_as_its_objects() -> None:
    assert [it for it in yaml.safe_load_all(as_yaml(options())) if it] == objects(options())


def test_in_one_namespace_nothing_reaches_the_cluster() -> None:
    assert "ClusterRole" in kinds(options())
    here = options(**_SHOP)
    assert not {"ClusterRole", "ClusterRoleBinding"} & kinds(here)
    assert "GITOPS_DESTINATION_NAMESPACES" in as_yaml(here)


def test_workloads_have_a_namespace_of_their_own_and_the_agent_s_is_no_destination() -> None:
    found = objects(options(**_SHOP))
    places = {
        (it["kind"], it["metadata"]["namespace"])
        for it in found
        if it["metadata"]["name"] == "gitops-destination"
    }
    assert places == {("Role", "shop"), ("RoleBinding", "shop")}
    assert [it["metadata"]["name"] for it in found if it["kind"] == "Namespace"] == [
        "shop",
        "argocd",
    ]
    assert "GITOPS_CONTROL_NAMESPACE_KINDS" not in as_yaml(options(**_SHOP))


@pytest.mark.parametrize("destination", ["", "argocd"])
def test_a_destination_that_is_missing_or_the_agent_s_own_is_a_problem(destination: str) -> None:
    chosen = options(scope=InstallScope.NAMESPACE, destination=destination)
    assert chosen.problem[0] == "destination"


def test_a_profile_that_the_scope_cannot_grant_is_a_problem() -> None:
    assert options(**_SHOP, profile=RightsProfile.CLUSTER).problem[0] == "profile"
    assert options(profile=RightsProfile.KINDS).problem[0] == "kinds"
    assert options(profile=RightsProfile.CLUSTER).problem == ("", "")


@pytest.mark.parametrize("scope", list(InstallScope))
@pytest.mark.parametrize(
    "features",
    [
        frozenset(),
        frozenset({InstallFeature.SYNC}),
        frozenset(InstallFeature) - {InstallFeature.ROLES},
    ],
    ids=["no feature", "sync", "all but roles"],
)
def test_no_choice_gives_all_rights_or_lets_it_write_roles(
    scope: InstallScope, features: frozenset[InstallFeature]
) -> None:
    for rule in rules(options(scope=scope, destination="shop", features=features)):
        assert "*" not in rule["verbs"] + rule["resources"] + rule["apiGroups"]
        assert "rbac.authorization.k8s.io" not in rule["apiGroups"]
        assert "pods/exec" not in rule["resources"]


def test_without_sync_the_agent_writes_nothing_at_its_destinations() -> None:
    reconciliation = options(features=frozenset())
    (role,) = [it for it in objects(reconciliation) if it["kind"] == "ClusterRole"]
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"get", "list", "watch"}


def test_without_manage_the_agent_deletes_nothing_in_its_own_namespace() -> None:
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


def test_a_read_only_control_plane_is_configured_in_the_cluster() -> None:
    def limits(chosen: InstallOptions) -> list[dict[str, str]]:
        return [it["data"] for it in objects(chosen) if it["metadata"]["name"] == _LIMITS]

    assert limits(options(read_only=True)) == [{"readOnly": "true"}]
    roles = frozenset({InstallFeature.SYNC, InstallFeature.ROLES})
    without_roles = "*, !Role, !RoleBinding"
    for chosen, expected in (
        (options(), ("*", without_roles, "false")),
        (options(**_SHOP), ("shop", without_roles, "false")),
        (options(**_SHOP, features=roles), ("shop", "*", "false")),
        (options(profile=RightsProfile.CLUSTER), ("*", "*", "true")),
        (options(profile=RightsProfile.KINDS, kinds=(_WIDGETS,)), ("*", without_roles, "true")),
        (options(**_SHOP, kinds=(_WIDGETS,)), ("shop", without_roles, "false")),
        (options(kinds=(KindName.parse("jobs.batch"),)), ("*", without_roles, "false")),
    ):
        names = ("namespaces", "objectKinds", "clusterScoped")
        assert limits(chosen) == [dict(zip(names, expected, strict=True))]
        assert not read_policy(limits(chosen)[0]).problem


def test_definitions_are_left_to_an_argo_cd_that_brings_them() -> None:
    assert "CustomResourceDefinition" in kinds(options())
    assert "CustomResourceDefinition" not in kinds(options(definitions=False))
    assert "$patch" in as_kustomize(options(definitions=False))


def test_the_manifest_manages_the_kinds_that_the_chart_manages() -> None:
    base = yaml.safe_load_all((ROOT / "deploy/base/agent.yaml").read_text())
    assert written(list(base)) == written(objects(options()))
    assert ("apps", "deployments") in written(objects(options()))


def test_each_profile_lets_it_write_its_kinds_and_the_chosen_ones() -> None:
    def kinds_of(**more: object) -> set[tuple[str, str]]:
        return written(objects(options(**more)))

    namespaced, widgets = kinds_of(), {("example.org", "widgets")}
    roles = {("rbac.authorization.k8s.io", it) for it in ("roles", "rolebindings")}
    assert (
        kinds_of(features=frozenset({InstallFeature.SYNC, InstallFeature.ROLES}))
        == namespaced | roles
    )
    assert kinds_of(profile=RightsProfile.KINDS, kinds=(_WIDGETS,)) == widgets
    assert kinds_of(kinds=(_WIDGETS,)) == namespaced | widgets
    cluster = kinds_of(profile=RightsProfile.CLUSTER)
    assert cluster > namespaced | roles
    assert ("apiextensions.k8s.io", "customresourcedefinitions") in cluster


def written(found: list[Any]) -> set[tuple[str, str]]:
    """Group and plural of what the agent may delete where it deploys."""
    (role,) = [it for it in found if it["kind"] == "ClusterRole"]
    rules = [rule for rule in role["rules"] if "delete" in rule["verbs"]]
    return {(it["apiGroups"][0], kind) for it in rules for kind in it["resources"]}


def test_logs_are_a_right_of_their_own() -> None:
    def readable(features: frozenset[InstallFeature]) -> bool:
        return any("pods/log" in it["resources"] for it in rules(options(features=features)))

    assert readable(frozenset({InstallFeature.LOGS}))
    assert not readable(frozenset({InstallFeature.SYNC}))


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
    assert container["image"] == "registry.example/mirror/plumbline/agent:1.2.3"
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
def test_a_value_written_as_yaml_is_read_back(value: object) -> None:
    assert yaml.safe_load(dump(value)) == value


_IN_SHOP = "scope=namespace&destination=shop&kinds=widgets.example.org,configmaps"


async def test_the_manifest_is_served_in_every_form(api: ApiFixture) -> None:
    viewer = await api.person("viewer")
    path = f"/agents/{await api.agent('prod')}/manifest"
    for form in ("yaml", "helm", "kustomize"):
        answer = await viewer.get(f"{path}?format={form}&namespace=tools&{_IN_SHOP}")
        assert answer.status == 200
        assert any(yaml.safe_load_all(answer.raw))
        assert f"http://{api.server.host}" in answer.raw.decode()


@pytest.mark.parametrize(
    "wrong",
    [
        "proxy=http://me:x7canary@proxy:3128",
        "proxy=http://p%0A-%20evil",
        "namespace=Upper",
        "features=everything",
        "registry=a%0Ab",
        "pullSecret=%7B%7D",
        "kinds=*",
        "kinds=*.example.org",
        "kinds=pods/exec",
        "kinds=Widget.example.org",
        "kinds=a%0Ab",
        "destination=argocd&scope=namespace",
        "profile=cluster&scope=namespace&destination=shop",
        "profile=all",
    ],
)
async def test_what_could_become_structure_is_refused(api: ApiFixture, wrong: str) -> None:
    viewer = await api.person("viewer")
    answer = await viewer.get(f"/agents/{await api.agent('prod')}/manifest?{wrong}")
    assert answer.status == 422
    assert answer.body["field"] == wrong.partition("=")[0]
    assert "x7canary" not in answer.raw.decode()
