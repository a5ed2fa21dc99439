"""The Kubernetes objects that install an agent: the chart's, changed by the chosen options. Pure.

The rights are the least for the options. No object holds a credential: the enrolment token is read
from a Secret that a person creates, and the agent makes its keys in the cluster.

Each function that changes an object knows one kind and finds its fields by name, as the chart wrote
them. Objects are changed in place; nothing else is touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from service.api.agents.install import chart_copy
from service.api.agents.install.chart_copy import DEFINITION, HOME, Object
from service.api.agents.install.options import InstallFeature, InstallOptions, InstallScope

_READ = ["get", "list", "watch"]
_MANAGE = ["create", "update", "patch", "delete"]
_CREATE_NAMESPACES = ["create", "patch"]
_OF_CLUSTER = ("namespaces", "customresourcedefinitions", "apiservices")
_PROXY = ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY")
_CA = "link-ca"


def objects(options: InstallOptions) -> list[Object]:
    """Whatever `kubectl apply` needs, the namespaces and the definitions first."""
    destination = [_space(options.destination)] if options.scope is InstallScope.NAMESPACE else []
    return [*destination, *own(options, options.namespace)]


def own(options: InstallOptions, namespace: str = HOME) -> list[Object]:
    """The objects without the Namespace of the workloads, for an agent in `namespace`."""
    chosen = [it for it in chart_copy.fullest() if _is_chosen(it, options)]
    for it in chosen:
        _move(it, namespace)
        change(it, options)
    return [_space(namespace), *sorted(chosen, key=lambda it: it["kind"] != DEFINITION)]


def _space(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _is_chosen(it: Object, options: InstallOptions) -> bool:
    match it["kind"]:
        case chart_copy.DEFINITION:
            return options.definitions
        case "ConfigMap" if it["metadata"]["name"].endswith("-limits"):
            return bool(options.limits)
        case _:
            return True


def _move(it: Object, namespace: str) -> None:
    """Into the agent's namespace, and what refers to it."""
    metadata: dict[str, Any] = it["metadata"]
    if metadata.get("namespace") == HOME:
        metadata["namespace"] = namespace
    for subject in it.get("subjects", ()):
        subject["namespace"] = namespace


def change(it: Object, options: InstallOptions) -> None:
    match it["kind"]:
        case "Deployment":
            _agent(it["spec"]["template"]["spec"], options)
        case "StatefulSet":
            pod = it["spec"]["template"]["spec"]
            pod["containers"][0]["image"] = options.from_registry(pod["containers"][0]["image"])
            _pull(pod, options)
        case "Role":
            it["rules"] = [one for one in it["rules"] if _at_home(one, options)]
        case "ClusterRole" | "ClusterRoleBinding":
            _destinations(it, options)
        case "NetworkPolicy" if it["metadata"]["name"].endswith("-agent"):
            it["spec"]["egress"][1]["ports"] += [{"port": port} for port in options.ports]
        case "ConfigMap" if it["metadata"]["name"].endswith("-limits"):
            it["data"] = options.limits
        case kind if kind == DEFINITION:
            del it["metadata"]["annotations"]  # they are Helm's
        case _:
            pass


def _agent(pod: dict[str, Any], options: InstallOptions) -> None:
    container = pod["containers"][0]
    container["image"] = f"{options.repository}:{options.version}"
    container["env"] = list(_environment(container["env"], options))
    _pull(pod, options)
    if not options.ca_secret:
        pod["volumes"] = _without(pod["volumes"])
        container["volumeMounts"] = _without(container["volumeMounts"])
    for volume in pod["volumes"]:
        if volume["name"] == _CA:
            volume["secret"]["secretName"] = options.ca_secret


def _environment(
    params: Iterable[Mapping[str, Any]], options: InstallOptions
) -> Iterable[dict[str, Any]]:
    chosen = {
        "GITOPS_ACCOUNT": options.account,
        "GITOPS_AGENT": options.agent,
        "GITOPS_LINK_URL": options.service_url,
        "GITOPS_RIGHTS_PROFILE": options.profile if _writes(options) else "read-only",
        "HTTPS_PROXY": options.proxy,
        "HTTP_PROXY": options.proxy,
    }
    left_out = {
        *(() if options.proxy else _PROXY),
        *(() if options.ca_secret else ["GITOPS_LINK_CA"]),
    }
    for it in params:
        name = it["name"]
        if name not in left_out:
            yield {**it, "value": chosen[name]} if name in chosen else dict(it)
    if options.scope is InstallScope.NAMESPACE:
        yield {"name": "GITOPS_DESTINATION_NAMESPACES", "value": options.destination}


def _pull(pod: dict[str, Any], options: InstallOptions) -> None:
    pod["imagePullSecrets"] = [{"name": options.pull_secret}]
    if not options.pull_secret:
        del pod["imagePullSecrets"]


def _without(named: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [it for it in named if it["name"] != _CA]


def _at_home(rule: Mapping[str, Any], options: InstallOptions) -> bool:
    return rule["verbs"] != _MANAGE or InstallFeature.MANAGE in options.features


def _destinations(it: Object, options: InstallOptions) -> None:
    """In the whole cluster, or as Role and RoleBinding of the destination."""
    if "rules" in it:
        others = [one for one in it["rules"] if "delete" not in one["verbs"]]
        it["rules"] = [
            *({**kinds, "verbs": _verbs(options)} for kinds in options.managed),
            *(dict(one) for one in others if _at_large(one, options)),
        ]
    if options.scope is InstallScope.CLUSTER:
        return
    it["kind"] = it["kind"].removeprefix("Cluster")
    it["metadata"] = {**it["metadata"], "name": "gitops-destination"}
    it["metadata"]["namespace"] = options.destination
    if "roleRef" in it:
        it["roleRef"] = {**it["roleRef"], "kind": "Role", "name": "gitops-destination"}


def _at_large(rule: Mapping[str, Any], options: InstallOptions) -> bool:
    if rule["resources"] == ["pods/log"]:
        return InstallFeature.LOGS in options.features
    if rule["resources"][0] in _OF_CLUSTER and options.scope is InstallScope.NAMESPACE:
        return False
    if rule["verbs"] == _CREATE_NAMESPACES:
        return InstallFeature.CREATE_NAMESPACES in options.features
    return True


def _verbs(options: InstallOptions) -> list[str]:
    return [*_READ, *_MANAGE] if _writes(options) else list(_READ)


def _writes(options: InstallOptions) -> bool:
    return InstallFeature.SYNC in options.features
