"""What the service generates to install an agent: three forms of the same objects, and applied.

A real API server takes the YAML, and its RBAC then allows the agent exactly what was chosen.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy import render
from playground.kubernetes import ControlPlane
from sandbox.client import Sandbox
from service.api.agents.install.objects import objects
from service.api.agents.install.options import (
    InstallFeature,
    InstallOptions,
    InstallScope,
    KindName,
    RightsProfile,
)
from service.api.agents.install.render import as_helm, as_kustomize, as_yaml
from tests.unit.deploy.chart_values import Object
from tests.unit.deploy.object_installer import Installer, installer

pytestmark = pytest.mark.usefixtures("whole_cluster")

_FEATURES: tuple[frozenset[InstallFeature], ...] = (
    frozenset(),
    frozenset({InstallFeature.SYNC, InstallFeature.LOGS}),
    frozenset(InstallFeature),
)
_MORE: Mapping[str, dict[str, Any]] = {
    "plain": {},
    "enclosed": {
        "registry": "registry.example/mirror",
        "pull_secret": "pull",
        "proxy": "http://proxy.example:3128",
        "ca_secret": "company-ca",
        "service_url": "https://gitops.example:8443",
    },
    "beside-argo-cd-looking-only": {"definitions": False, "read_only": True},
    "chosen-kinds": {
        "profile": RightsProfile.KINDS,
        "kinds": (KindName.parse("widgets.example.org"),),
    },
}
every_choice = pytest.mark.parametrize(
    ("scope", "features", "more"),
    tuple(product(InstallScope, _FEATURES, _MORE)),
    ids=lambda it: "+".join(sorted(it)) if isinstance(it, frozenset) else str(it),
)


def options(namespace: str, **more: Any) -> InstallOptions:
    plain = {"account": "acme", "agent": "prod", "service_url": "https://gitops.example"}
    return InstallOptions(**{**plain, "version": "1.2.3", "namespace": namespace, **more})


def from_yaml(chosen: InstallOptions) -> list[Object]:
    return [it for it in yaml.safe_load_all(as_yaml(chosen)) if it]


def by_name(found: list[Object]) -> dict[tuple[str, str, str], Object]:
    """Without what is by nature of one form: Helm's annotation, the namespace it does not make."""
    for it in found:
        annotations = it["metadata"].get("annotations", {})
        annotations.pop("helm.sh/resource-policy", None)
        if not annotations:
            it["metadata"].pop("annotations", None)
        for container in it["spec"]["template"]["spec"]["containers"] if _has_pod(it) else ():
            container["env"] = sorted(container.get("env", []), key=lambda one: str(one["name"]))
    return {
        (it["kind"], it["metadata"].get("namespace", ""), it["metadata"]["name"]): it
        for it in found
        if it["kind"] != "Namespace"
    }


def _has_pod(it: Object) -> bool:
    return "template" in it.get("spec", {})


@every_choice
async def test_helm_and_kustomize_make_what_the_yaml_says(
    sandbox: Sandbox,
    tmp_path: Path,
    scope: InstallScope,
    features: frozenset[InstallFeature],
    more: str,
) -> None:
    chosen = options("tools", scope=scope, destination="shop", features=features, **_MORE[more])
    assert chosen.problem == ("", "")
    expected = by_name(from_yaml(chosen))
    values = yaml.safe_load(as_helm(chosen))
    assert by_name(list(await render.chart(sandbox, values, "tools"))) == expected
    shutil.copytree(render.FOLDER / "base", tmp_path / "base")
    overlay = tmp_path / "overlays" / "prod"
    overlay.mkdir(parents=True)
    (overlay / "kustomization.yaml").write_text(as_kustomize(chosen))
    built = await render.kustomized(sandbox, tmp_path, "overlays/prod")
    assert by_name(list(built)) == expected
    assert {it["metadata"]["name"] for it in built if it["kind"] == "Namespace"} == {"tools"}


@pytest.fixture
async def installing(control_plane: ControlPlane) -> AsyncIterator[Installer]:
    async with installer(control_plane.access) as found:
        yield found


READ = ("get", "list", "watch")
WRITE = ("create", "update", "patch", "delete")
ELSEWHERE = "default"
"""A namespace that is neither the agent's own nor its destination."""

ALWAYS = [
    *((verb, "argoproj.io/applications", "home") for verb in (*READ, "patch")),
    *((verb, "argoproj.io/appprojects", "home") for verb in READ),
    *((verb, "/secrets", "home") for verb in (*READ, "create")),
    *((verb, "/secrets/gitops-agent-link", "home") for verb in ("update", "patch")),
    *((verb, "coordination.k8s.io/leases", "home") for verb in ("get", "create", "update")),
    *((verb, "apps/deployments", "shop") for verb in READ),
    *((verb, "/pods", "shop") for verb in READ),
]
NEVER = [
    *((verb, "rbac.authorization.k8s.io/clusterroles", "") for verb in WRITE),
    *((verb, "rbac.authorization.k8s.io/roles", "shop") for verb in ("bind", "escalate")),
    ("impersonate", "/serviceaccounts", "home"),
    *((verb, "/pods/exec", where) for verb in ("get", "create") for where in ("home", "shop")),
    ("create", "/pods", "home"),
    ("delete", "/namespaces", ""),
    ("deletecollection", "/secrets", "home"),
    ("create", "/serviceaccounts/token", "home"),
]
SYNC = [
    *((verb, "apps/deployments", "shop") for verb in WRITE),
    *((verb, "/configmaps", "shop") for verb in WRITE),
]
LOGS = [("get", "/pods/log", "shop")]
MANAGE = [(verb, "argoproj.io/appprojects", "home") for verb in WRITE]
ROLES = [(verb, "rbac.authorization.k8s.io/roles", "shop") for verb in WRITE]
CREATE_NAMESPACES = [("create", "/namespaces", "")]
CLUSTER = [
    *((verb, "/namespaces", "") for verb in READ),
    ("list", "apps/deployments", ELSEWHERE),
    ("list", "apps/deployments", "home"),
    ("list", "/pods", "home"),
    ("list", "apiextensions.k8s.io/customresourcedefinitions", ""),
]
SYNC_CLUSTER = [("patch", "apps/deployments", ELSEWHERE), ("delete", "/services", ELSEWHERE)]
OF_FEATURE = {
    InstallFeature.SYNC: SYNC,
    InstallFeature.LOGS: LOGS,
    InstallFeature.MANAGE: MANAGE,
    InstallFeature.ROLES: ROLES,
    InstallFeature.CREATE_NAMESPACES: CREATE_NAMESPACES,
}


def granted(chosen: InstallOptions) -> tuple[set[Any], set[Any]]:
    """What has to be allowed, and what has to be refused."""
    whole = chosen.scope is InstallScope.CLUSTER
    allowed = {*ALWAYS, *(CLUSTER if whole else ())}
    for feature in chosen.features:
        if whole or feature is not InstallFeature.CREATE_NAMESPACES:
            allowed |= {*OF_FEATURE[feature]}
    if whole and InstallFeature.SYNC in chosen.features:
        allowed |= {*SYNC_CLUSTER}
    every = {
        *ALWAYS,
        *NEVER,
        *CLUSTER,
        *SYNC_CLUSTER,
        *(it for of in OF_FEATURE.values() for it in of),
    }
    return allowed, every - allowed


@pytest.mark.parametrize("scope", list(InstallScope))
@pytest.mark.parametrize("features", _FEATURES, ids=lambda it: "+".join(sorted(it)) or "none")
async def test_the_applied_yaml_grants_what_was_chosen_and_no_more(
    installing: Installer, namespace: str, scope: InstallScope, features: frozenset[InstallFeature]
) -> None:
    shop = f"{namespace}-shop"
    chosen = options(
        namespace, scope=scope, destination=shop, features=features, **_MORE["enclosed"]
    )
    applied = from_yaml(chosen)
    try:
        assert await installing.apply(applied, dry_run=False) == {}
        assert await installing.apply(applied, dry_run=False) == {}
        allowed, refused = granted(chosen)
        answers = {it: await may(installing, namespace, shop, *it) for it in allowed | refused}
        assert {it for it in allowed if not answers[it]} == set()
        assert {it for it in refused if answers[it]} == set()
    finally:
        for one in objects(chosen):
            if one["kind"] in ("ClusterRole", "ClusterRoleBinding"):
                await installing.delete(one)


async def may(
    installing: Installer, home: str, shop: str, verb: str, what: str, where: str
) -> bool:
    """Asked of the API server about the agent's ServiceAccount; `what` is GROUP/PLURAL[/MORE]."""
    group, plural, *more = what.split("/")
    named = {"name": more[0]} if more == ["gitops-agent-link"] else {}
    attributes = {
        "verb": verb,
        "group": group,
        "resource": plural,
        "subresource": more[0] if more and not named else "",
        "namespace": {"home": home, "shop": shop}.get(where, where),
        **named,
    }
    user = f"system:serviceaccount:{home}:gitops-agent"
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{home}", "system:authenticated"]
    spec = {"user": user, "groups": groups, "resourceAttributes": attributes}
    answer = await installing.post(
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec},
    )
    return bool(answer["status"].get("allowed"))
