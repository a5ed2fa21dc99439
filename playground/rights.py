"""A ServiceAccount with exactly the rights a test names: what "least rights" is tested with.

Kubernetes' own RBAC decides, as in production; the result is an Access like the administrator's.
"""

from collections.abc import Sequence

import msgspec

from playground.kubeapi import Access, KubeApi
from playground.kubernetes import ControlPlane

_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_TOKEN_SECONDS = 24 * 3600


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
        request = {"spec": {"expirationSeconds": _TOKEN_SECONDS}}
        granted = await api.create(f"{home}/{account.name}/token", request)
    return Access(url=cluster.url, ca_file=cluster.access.ca_file, token=granted["status"]["token"])


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
