"""A ServiceAccount with exactly the rights a test names: what "least rights" is tested with.

Kubernetes' own RBAC decides, as in production; the result is an Access like the administrator's.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from agent.child_process import until
from playground.kubeapi import Access, KubeApi
from playground.kubernetes import ControlPlane

_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_TOKEN_SECONDS = 24 * 3600
_ACTED_ON_WITHIN = 120.0


class GrantedRule(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One rule, in the fields of RBAC."""

    api_groups: tuple[str, ...] = ("",)
    resources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ("*",)
    resource_names: tuple[str, ...] = ()


class RightsAccount(msgspec.Struct, frozen=True, kw_only=True):
    """Who: its home namespace and name. What: rules everywhere, and rules in its home only."""

    namespace: str
    name: str
    cluster_rules: tuple[GrantedRule, ...] = ()
    home_rules: tuple[GrantedRule, ...] = ()


async def open_account(cluster: ControlPlane, account: RightsAccount) -> Access:
    """Create the account and its bindings, and return how to connect as it."""
    home = f"/api/v1/namespaces/{account.namespace}/serviceaccounts"
    async with cluster.api() as api:
        await api.create(home, {"metadata": {"name": account.name}})
        if account.cluster_rules:
            await _bind_everywhere(api, account)
        if account.home_rules:
            await _bind_at_home(api, account)
        user = user_of(account.namespace, account.name)
        for rules, space in ((account.cluster_rules, ""), (account.home_rules, account.namespace)):
            for rule in rules:
                await until_permitted(api, user, msgspec.to_builtins(rule), space)
        request = {"spec": {"expirationSeconds": _TOKEN_SECONDS}}
        granted = await api.create(f"{home}/{account.name}/token", request)
    return Access(url=cluster.url, ca_file=cluster.access.ca_file, token=granted["status"]["token"])


def user_of(namespace: str, account: str) -> str:
    """The name by which the API server knows a ServiceAccount."""
    return f"system:serviceaccount:{namespace}:{account}"


async def until_granted(api: KubeApi, objects: Iterable[Mapping[str, Any]]) -> None:
    """Return when the API server acts on these roles and bindings.

    Its authorizer watches them as everybody does, each kind for itself, and hears of them a moment
    after they were written; until then the account is refused.
    """
    found = list(objects)
    rules = {(it["kind"], it["metadata"]["name"]): it.get("rules") or () for it in found}
    for binding in (it for it in found if it["kind"].endswith("RoleBinding")):
        role = binding["roleRef"]
        space = "" if binding["kind"].startswith("Cluster") else binding["metadata"]["namespace"]
        accounts = [it for it in binding["subjects"] if it["kind"] == "ServiceAccount"]
        for rule in rules.get((role["kind"], role["name"]), ()):
            for one in accounts:
                await until_permitted(api, user_of(one["namespace"], one["name"]), rule, space)


async def until_permitted(
    api: KubeApi,
    user: str,
    rule: Mapping[str, Any],
    namespace: str,
    *,
    permitted: bool = True,
) -> None:
    """Return when the API server permits `user` what a rule says, or does so no more."""
    async with asyncio.timeout(_ACTED_ON_WITHIN):
        await until(partial(_decides, api, user, rule, namespace, permitted=permitted))


async def _decides(
    api: KubeApi, user: str, rule: Mapping[str, Any], namespace: str, *, permitted: bool
) -> bool:
    """Whether the last right of a rule is decided so; other URLs than those of objects are not."""
    if not rule.get("resources"):
        return True
    resource, _, subresource = rule["resources"][-1].partition("/")
    attributes = {
        "namespace": namespace,
        "verb": rule["verbs"][-1],
        "group": rule["apiGroups"][-1],
        "resource": resource,
        "subresource": subresource,
        "name": next(iter(rule.get("resourceNames") or ()), ""),
    }
    review = {"spec": {"user": user, "resourceAttributes": attributes}}
    answer = await api.create(_REVIEWS, review)
    return bool(answer["status"]["allowed"]) is permitted


async def _bind_everywhere(api: KubeApi, account: RightsAccount) -> None:
    name = f"{account.namespace}-{account.name}"
    rules = _plain(account.cluster_rules)
    await api.create(f"{_RBAC}/clusterroles", {"metadata": {"name": name}, "rules": rules})
    binding = _binding(account, name, "ClusterRole")
    await api.create(f"{_RBAC}/clusterrolebindings", binding)


async def _bind_at_home(api: KubeApi, account: RightsAccount) -> None:
    home = f"{_RBAC}/namespaces/{account.namespace}"
    rules = _plain(account.home_rules)
    await api.create(f"{home}/roles", {"metadata": {"name": account.name}, "rules": rules})
    await api.create(f"{home}/rolebindings", _binding(account, account.name, "Role"))


def _binding(account: RightsAccount, role: str, kind: str) -> dict[str, object]:
    subject = {"kind": "ServiceAccount", "namespace": account.namespace, "name": account.name}
    return {
        "metadata": {"name": role},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
        "subjects": [subject],
    }


def _plain(rules: Sequence[GrantedRule]) -> object:
    return msgspec.to_builtins(rules)
