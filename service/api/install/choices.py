"""What each choice changes in the objects of the chart. Pure but for the object it changes.

Each function knows one kind, and finds its place in it by name, as the chart wrote it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from service.api.install.made import DEFINITION, Object
from service.api.install.options import Feature, Options, Scope

_READ = ["get", "list", "watch"]
_MANAGE = ["create", "update", "patch", "delete"]
_CREATE_NAMESPACES = ["create", "patch"]
_OF_CLUSTER = ("namespaces", "customresourcedefinitions", "apiservices")
_PROXY = ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY")
_CA = "link-ca"


def change(it: Object, options: Options) -> None:
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


def _agent(pod: dict[str, Any], options: Options) -> None:
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


def _environment(given: Iterable[Mapping[str, Any]], options: Options) -> Iterable[dict[str, Any]]:
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
    for it in given:
        name = it["name"]
        if name not in left_out:
            yield {**it, "value": chosen[name]} if name in chosen else dict(it)
    if options.scope is Scope.NAMESPACE:
        yield {"name": "GITOPS_DESTINATION_NAMESPACES", "value": options.destination}


def _pull(pod: dict[str, Any], options: Options) -> None:
    pod["imagePullSecrets"] = [{"name": options.pull_secret}]
    if not options.pull_secret:
        del pod["imagePullSecrets"]


def _without(named: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [it for it in named if it["name"] != _CA]


def _at_home(rule: Mapping[str, Any], options: Options) -> bool:
    return rule["verbs"] != _MANAGE or Feature.MANAGE in options.features


def _destinations(it: Object, options: Options) -> None:
    """In the whole cluster, or as Role and RoleBinding of the destination."""
    if "rules" in it:
        others = [one for one in it["rules"] if "delete" not in one["verbs"]]
        it["rules"] = [
            *({**kinds, "verbs": _verbs(options)} for kinds in options.managed),
            *(dict(one) for one in others if _at_large(one, options)),
        ]
    if options.scope is Scope.CLUSTER:
        return
    it["kind"] = it["kind"].removeprefix("Cluster")
    it["metadata"] = {**it["metadata"], "name": "gitops-destination"}
    it["metadata"]["namespace"] = options.destination
    if "roleRef" in it:
        it["roleRef"] = {**it["roleRef"], "kind": "Role", "name": "gitops-destination"}


def _at_large(rule: Mapping[str, Any], options: Options) -> bool:
    if rule["resources"] == ["pods/log"]:
        return Feature.LOGS in options.features
    if rule["resources"][0] in _OF_CLUSTER and options.scope is Scope.NAMESPACE:
        return False
    if rule["verbs"] == _CREATE_NAMESPACES:
        return Feature.CREATE_NAMESPACES in options.features
    return True


def _verbs(options: Options) -> list[str]:
    return [*_READ, *_MANAGE] if _writes(options) else list(_READ)


def _writes(options: Options) -> bool:
    return Feature.SYNC in options.features
