"""The least rights for what was chosen: the agent may touch nothing else. Pure.

At home it reads settings and writes Applications; at its destinations it writes exactly the kinds
that it manages, or only reads them where it shall not sync. It can never write roles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from service.api.install.options import Feature, Options, Scope

READ = ("get", "list", "watch")
WRITE = (*READ, "create", "update", "patch", "delete")
KEYS = "gitops-agent-link"
"""The Secret with the agent's keys."""
Object = dict[str, Any]

_MANAGED: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "",
        (
            "configmaps",
            "secrets",
            "services",
            "serviceaccounts",
            "persistentvolumeclaims",
            "limitranges",
            "resourcequotas",
        ),
    ),
    ("apps", ("deployments", "statefulsets", "daemonsets")),
    ("batch", ("jobs", "cronjobs")),
    ("networking.k8s.io", ("ingresses", "networkpolicies")),
    ("autoscaling", ("horizontalpodautoscalers",)),
    ("policy", ("poddisruptionbudgets",)),
)
_OBSERVED: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("", ("pods", "endpoints", "events")),
    ("apps", ("replicasets", "controllerrevisions")),
    ("discovery.k8s.io", ("endpointslices",)),
)
_CLUSTER_WIDE: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("", ("namespaces",)),
    ("apiextensions.k8s.io", ("customresourcedefinitions",)),
    ("apiregistration.k8s.io", ("apiservices",)),
)


def home_rules(options: Options) -> list[Object]:
    """Its own keys stand in one Secret, which it makes and renews whatever was chosen."""
    keys = rule("", ("secrets",), ("get", "update", "patch"))
    leases = rule("coordination.k8s.io", ("leases",), ("get", "create", "update", "patch"))
    common = [rule("", ("secrets",), ("create",)), {**keys, "resourceNames": [KEYS]}, leases]
    if Feature.MANAGE in options.features:
        return [
            rule("argoproj.io", ("applications", "appprojects"), WRITE),
            rule("", ("configmaps", "secrets"), WRITE),
            *common,
        ]
    return [
        rule("argoproj.io", ("applications",), (*READ, "update", "patch")),
        rule("argoproj.io", ("appprojects",), READ),
        rule("", ("configmaps", "secrets"), READ),
        *common,
    ]


def destination_rules(options: Options) -> list[Object]:
    managed = WRITE if Feature.SYNC in options.features else READ
    rules = [rule(group, kinds, managed) for group, kinds in _MANAGED]
    rules += [rule(group, kinds, READ) for group, kinds in _OBSERVED]
    if Feature.LOGS in options.features:
        rules.append(rule("", ("pods/log",), ("get",)))
    if options.scope is Scope.CLUSTER:
        rules += [rule(group, kinds, READ) for group, kinds in _CLUSTER_WIDE]
        if Feature.CREATE_NAMESPACES in options.features:
            rules.append(rule("", ("namespaces",), ("create", "patch")))
    return rules


def rule(group: str, resources: Sequence[str], verbs: Sequence[str]) -> Object:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
