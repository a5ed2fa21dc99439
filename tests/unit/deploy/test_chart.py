"""What the chart says, for every value that a person may set."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent.agent_secrets import AGENT_KEYS, SERVER_PART, SUBSCRIBER_SUFFIX
from agent.configuration import load, unknown_variables
from agent.embedded_nats import nats_binary
from bus.jetstream.authorization import authorization, new_seeds, users_of
from bus.spans import OtlpSettings, Sampler, SamplerKind, otlp_settings
from bus.subjects import AgentScope
from deploy import render
from handlers.ports.rendering import RenderError
from sandbox.client import Sandbox
from tests.unit.deploy.chart_values import SHOPS, VARIANTS, Object, all_of, environment, the

every_variant = pytest.mark.parametrize("variant", VARIANTS)


async def chart(sandbox: Sandbox, variant: str) -> tuple[Object, ...]:
    return await render.chart(sandbox, VARIANTS[variant], render.NAMESPACE)


@every_variant
async def test_every_variable_of_the_agent_is_a_setting_that_it_accepts(
    sandbox: Sandbox, variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = environment(await chart(sandbox, variant))
    assert unknown_variables(variables) == ()
    from_cluster = {
        "GITOPS_NAMESPACE": "argocd",
        "GITOPS_REDIS_URL": "redis://from.a.secret",
        "OTEL_EXPORTER_OTLP_HEADERS": "name=value",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, from_cluster[name] if value.startswith("{") else value)
    assert load().namespace == "argocd"


async def test_the_settings_are_those_of_the_values(sandbox: Sandbox) -> None:
    found = environment(await chart(sandbox, "own-nats"))
    assert found["GITOPS_NATS_URL"] == "tls://nats.example:4222"
    assert found["GITOPS_NATS_CREDENTIALS_FILE"] == "/etc/gitops/nats/nats.creds"
    assert found["GITOPS_NATS_TLS_CA"] == "/etc/gitops/nats-ca/ca.crt"
    found = environment(await chart(sandbox, "namespaces"))
    assert found["GITOPS_DESTINATION_NAMESPACES"] == ",".join(SHOPS)
    assert environment(await chart(sandbox, "own-ways"))["GITOPS_CONCURRENCY"] == "32"


async def test_traces_go_to_the_collector_of_the_values(sandbox: Sandbox) -> None:
    objects = await chart(sandbox, "own-ways")
    found = environment(objects)
    assert otlp_settings(found) == OtlpSettings(
        exports=True, sampler=Sampler(kind=SamplerKind.PARENT_RATIO, ratio=0.1)
    )
    assert "'key': 'headers'" in found["OTEL_EXPORTER_OTLP_HEADERS"]
    rules = the("NetworkPolicy", objects, "-agent")["spec"]["egress"]
    assert 4318 in {port["port"] for rule in rules for port in rule["ports"]}
    plain = environment(await chart(sandbox, "defaults"))
    assert not [name for name in plain if name.startswith("OTEL_")]


async def test_servers_are_run_here_only_where_nobody_gives_them(sandbox: Sandbox) -> None:
    here = await chart(sandbox, "redis-here")
    assert the("StatefulSet", here)["metadata"]["name"] == "gitops-nats"
    assert the("Deployment", here, "-redis")
    assert environment(here)["GITOPS_REDIS_URL"] == "redis://gitops-redis:6379"
    assert not all_of("StatefulSet", await chart(sandbox, "own-nats"))
    for variant in ("defaults", "own-redis", "secret-redis"):
        assert not all_of("Deployment", await chart(sandbox, variant), "-redis")


async def test_what_is_switched_off_is_not_there(sandbox: Sandbox) -> None:
    kinds = {one["kind"] for one in await chart(sandbox, "bare")}
    assert not kinds & {"NetworkPolicy", "PodDisruptionBudget", "CustomResourceDefinition"}


async def test_uninstalling_keeps_the_definitions_unless_told_otherwise(sandbox: Sandbox) -> None:
    kept = all_of("CustomResourceDefinition", await chart(sandbox, "defaults"))
    policies = [one["metadata"]["annotations"] for one in kept]
    assert policies == [{"helm.sh/resource-policy": "keep"}] * 3
    gone = all_of("CustomResourceDefinition", await chart(sandbox, "own-ways"))
    assert [one["metadata"].get("annotations") for one in gone] == [None] * 3


@every_variant
async def test_no_right_is_everything_and_roles_are_written_only_where_chosen(
    sandbox: Sandbox, variant: str
) -> None:
    objects = await chart(sandbox, variant)
    for role in (*all_of("Role", objects), *all_of("ClusterRole", objects)):
        for rule in role["rules"]:
            words = {*rule["apiGroups"], *rule["resources"], *rule["verbs"]}
            assert not words & {"*", "escalate", "bind", "impersonate", "deletecollection"}
            if variant not in ("cluster", "roles-and-custom-resources"):
                assert "rbac.authorization.k8s.io" not in words


async def test_namespaces_alone_need_no_right_in_the_cluster(sandbox: Sandbox) -> None:
    objects = await chart(sandbox, "namespaces")
    kinds = {one["kind"] for one in objects}
    assert not kinds & {"ClusterRole", "ClusterRoleBinding"}
    homes = {one["metadata"]["namespace"] for one in all_of("RoleBinding", objects)}
    assert homes == {"argocd", *SHOPS}


async def test_looking_around_is_reading(sandbox: Sandbox) -> None:
    role = the("ClusterRole", await chart(sandbox, "namespaces-and-a-look-around"))
    seen = {name for rule in role["rules"] for name in rule["resources"]}
    assert seen == {"namespaces", "customresourcedefinitions", "apiservices"}
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"get", "list", "watch"}


async def test_namespaces_are_created_only_where_that_is_allowed(sandbox: Sandbox) -> None:
    def verbs(objects: tuple[Object, ...]) -> set[str]:
        rules = the("ClusterRole", objects)["rules"]
        return {verb for one in rules if "namespaces" in one["resources"] for verb in one["verbs"]}

    read = {"get", "list", "watch"}
    assert verbs(await chart(sandbox, "defaults")) == read | {"create", "patch"}
    assert verbs(await chart(sandbox, "no-new-namespaces")) == read


@pytest.mark.parametrize(
    ("named", "names"), [([], None), (["deployer"], ["deployer"]), (["*"], [])], ids=str
)
async def test_accounts_are_impersonated_only_where_they_are_named(
    sandbox: Sandbox, named: list[str], names: list[str] | None
) -> None:
    values = {"rights": {"impersonate": named}}
    rules = the("ClusterRole", await render.chart(sandbox, values, render.NAMESPACE))["rules"]
    found = [one.get("resourceNames", []) for one in rules if "impersonate" in one["verbs"]]
    assert found == ([] if names is None else [names])


async def test_applications_of_other_namespaces_are_followed_where_they_are_named(
    sandbox: Sandbox,
) -> None:
    async def rights(*namespaces: str) -> list[tuple[str, str]]:
        values = {"applications": {"namespaces": list(namespaces)}}
        objects = await render.chart(sandbox, values, render.NAMESPACE)
        found = (one for one in objects if one["metadata"]["name"].endswith("-applications"))
        return [(one["kind"], one["metadata"].get("namespace", "")) for one in found]

    assert await rights() == []
    assert await rights("team") == [("Role", "team"), ("RoleBinding", "team")]
    assert await rights("*") == [("ClusterRole", ""), ("ClusterRoleBinding", "")]


async def test_the_new_agent_is_warm_before_the_old_one_ends(sandbox: Sandbox) -> None:
    """A standby is ready, so neither waits for the other."""
    for variant in ("defaults", "own-ways"):
        agent = the("Deployment", await chart(sandbox, variant), "-agent")
        assert agent["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}


async def test_the_one_that_acts_can_be_drained(sandbox: Sandbox) -> None:
    for variant in ("defaults", "own-ways"):
        budget = the("PodDisruptionBudget", await chart(sandbox, variant))
        assert budget["spec"]["maxUnavailable"] == 1


async def test_an_agent_that_only_looks_writes_nothing_at_its_destinations(
    sandbox: Sandbox,
) -> None:
    role = the("ClusterRole", await chart(sandbox, "looking"))
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"get", "list", "watch"}


async def test_ports_out_of_the_usual_are_let_out(sandbox: Sandbox) -> None:
    def ports(objects: tuple[Object, ...]) -> set[int]:
        rules = the("NetworkPolicy", objects, "-agent")["spec"]["egress"]
        return {port["port"] for rule in rules for port in rule["ports"]}

    more = ports(await chart(sandbox, "looking")) - ports(await chart(sandbox, "defaults"))
    assert more == {3128, 8443}


@every_variant
async def test_every_container_asks_for_what_it_needs_and_runs_as_nobody(
    sandbox: Sandbox, variant: str
) -> None:
    objects = await chart(sandbox, variant)
    for one in (*all_of("Deployment", objects), *all_of("StatefulSet", objects)):
        pod = one["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        for container in pod["containers"]:
            assert container["resources"]["requests"]
            assert container["securityContext"]["readOnlyRootFilesystem"] is True


async def test_a_real_nats_accepts_its_configuration(sandbox: Sandbox, tmp_path: Path) -> None:
    for variant in ("defaults", "own-ways", "redis-here"):
        config = the("ConfigMap", await chart(sandbox, variant), "-nats")["data"]["nats.conf"]
        try_nats_with(config, tmp_path)


def try_nats_with(config: str, folder: Path) -> None:
    """Raises where the server refuses the file."""
    file = folder / "nats.conf"
    file.write_text(config)
    users = users_of(AgentScope("default", "agent"), new_seeds())
    (folder / SERVER_PART).write_text(authorization(users))
    subprocess.run([nats_binary(), "--config", file, "-t"], check=True, timeout=180)


async def test_the_nats_here_lets_in_only_whom_the_agent_named(sandbox: Sandbox) -> None:
    """The server reads the public part only: the agent made it, and no template did."""
    objects = await chart(sandbox, "defaults")
    assert 'include "logins.conf"' in the("ConfigMap", objects, "-nats")["data"]["nats.conf"]
    pod = the("StatefulSet", objects)["spec"]["template"]["spec"]
    sources = volume(pod, "config")["projected"]["sources"]
    (secret,) = [one["secret"] for one in sources if "secret" in one]
    assert secret["items"] == [{"key": SERVER_PART, "path": SERVER_PART}]
    assert secret["name"] == environment(objects)["GITOPS_NATS_LOGINS_SECRET"]


async def test_the_redis_here_wants_the_password_that_the_agent_made(sandbox: Sandbox) -> None:
    objects = await chart(sandbox, "redis-here")
    pod = the("Deployment", objects, "-redis")["spec"]["template"]["spec"]
    secret = volume(pod, "password")["secret"]
    assert secret["secretName"] == environment(objects)["GITOPS_REDIS_PASSWORD_SECRET"]
    assert "/etc/redis/redis.conf" in pod["containers"][0]["args"]


@every_variant
async def test_nothing_rendered_holds_a_secret(sandbox: Sandbox, variant: str) -> None:
    objects = await chart(sandbox, variant)
    assert not all_of("Secret", objects)
    assert objects == await chart(sandbox, variant)


@every_variant
async def test_the_agent_may_write_the_secrets_that_it_makes_and_no_other(
    sandbox: Sandbox, variant: str
) -> None:
    objects = await chart(sandbox, variant)
    made = {AGENT_KEYS}
    variables = environment(objects)
    if logins := variables.get("GITOPS_NATS_LOGINS_SECRET"):
        made |= {logins, f"{logins}{SUBSCRIBER_SUFFIX}"}
    if password := variables.get("GITOPS_REDIS_PASSWORD_SECRET"):
        made.add(password)
    home = next(one for one in all_of("Role", objects) if one["metadata"]["namespace"] == "argocd")
    named = [
        rule for rule in home["rules"] if rule.get("resourceNames") and "patch" in rule["verbs"]
    ]
    (rule,) = [one for one in named if one["resources"] == ["secrets"]]
    assert set(rule["resourceNames"]) - {"gitops-agent-link"} == made


def volume(pod: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    (found,) = [one for one in pod["volumes"] if one["name"] == name]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"destinations": {"scope": "all"}}, "/destinations/scope': value must be one of"),
        ({"destinations": {"scope": "namespaces"}}, "expected at least one name"),
        ({"destinations": {"namespaces": ["a"]}}, 'expected destinations.scope "namespaces"'),
        ({"agent": {"replica": 2}}, "/agent': additional properties 'replica' not allowed"),
        ({"agent": {"replicas": 0}}, "/agent/replicas': minimum"),
        ({"agent": {"logLevel": "loud"}}, "/agent/logLevel': value must be one of"),
        ({"webhook": {"port": "http"}}, "/webhook/port': got string, want integer"),
        ({"rights": {"kinds": [{"apiGroups": [""], "resources": ["*"]}]}}, "/rights/kinds/0/resou"),
        ({"rights": {"profile": "all"}}, "/rights/profile': value must be one of"),
        ({"rights": {"profile": "kinds"}}, "expected at least one kind in rights.kinds"),
        (
            {
                "rights": {"profile": "cluster"},
                "destinations": {"scope": "namespaces", "namespaces": ["a"]},
            },
            'expected destinations.scope "cluster"',
        ),
        (
            {
                "rights": {
                    "profile": "kinds",
                    "roles": True,
                    "kinds": [{"apiGroups": [""], "resources": ["pods"]}],
                }
            },
            "name roles and rolebindings in rights.kinds",
        ),
        ({"nats": {"url": "nats.example"}}, "/nats/url'"),
        ({"nats": {"storage": "lots"}}, "/nats/storage'"),
        ({"nats": {"credentialsSecret": "x"}}, "expected nats.url"),
        ({"nats": {"url": "nats://n", "tlsSecret": "x"}}, "expected no nats.url"),
        ({"redis": {"url": "redis://:password@host"}}, "/redis/url'"),
        ({"link": {"url": "http://gitops.example"}}, "/link/url'"),
        (
            {"agent": {"divideShards": True}, "link": {"url": "https://gitops.example"}},
            "agent.divideShards is true: expected no link.url",
        ),
        ({"link": {"limits": {"readOnly": True}}}, "/link/limits/readOnly'"),
        ({"proxy": {"url": "http://me:password@proxy"}}, "/proxy/url'"),
        ({"traces": {"sampler": "sometimes"}}, "/traces/sampler'"),
        ({"redis": {"url": "redis://host", "urlSecret": "x"}}, "expected one of them"),
    ],
)
async def test_a_wrong_value_is_refused_and_named(
    sandbox: Sandbox, values: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(RenderError) as refused:
        await render.chart(sandbox, values, render.NAMESPACE)
    assert message in refused.value.message


@every_variant
async def test_the_agent_may_open_shells_only_where_the_values_say_so(
    sandbox: Sandbox, variant: str
) -> None:
    roles = [it for it in await chart(sandbox, variant) if it["kind"].endswith("Role")]
    rules = [rule for role in roles for rule in role["rules"]]
    shells = [rule["verbs"] for rule in rules if "pods/exec" in rule["resources"]]
    assert shells == ([["get", "create"]] if variant == "shells" else [])


async def test_plugins_get_their_volumes_and_no_token_of_the_agent(sandbox: Sandbox) -> None:
    mounts = [{"name": "plugins", "mountPath": "/home/argocd/cmp-server/plugins"}]
    sidecar = {"name": "cue", "image": "registry.example/cue:1", "volumeMounts": mounts}
    bare = {"name": "bare", "image": "registry.example/bare:1"}
    values = {
        "plugins": {
            "sidecars": [sidecar, bare],
            "volumes": [{"name": "cue-config", "configMap": {"name": "cue-plugin"}}],
        }
    }
    made = await render.chart(sandbox, values, render.NAMESPACE)
    pod = the("Deployment", made, "-agent")["spec"]["template"]["spec"]
    agent, cue, other = pod["containers"]
    folder = {"name": "GITOPS_PLUGINS_FOLDER", "value": "/home/argocd/cmp-server/plugins"}
    assert folder in agent["env"]
    assert mounts[0] in agent["volumeMounts"]
    (init,) = pod["initContainers"]
    no_token = {
        "name": "no-token",
        "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
        "readOnly": True,
    }
    assert cue == {**sidecar, "volumeMounts": [*mounts, no_token]}
    assert other == {**bare, "volumeMounts": [no_token]}
    assert no_token in init["volumeMounts"]
    names = {one["name"] for one in pod["volumes"]}
    assert names >= {"plugins", "var-files", "cmp-tmp", "no-token", "cue-config", "state", "tmp"}
