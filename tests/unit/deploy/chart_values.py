"""Values that a person may set, and a way to find one object among the rendered ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Object = dict[str, Any]

SHOPS = ("shop-a", "shop-b")
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "defaults": {},
    "own-nats": {
        "nats": {
            "url": "tls://nats.example:4222",
            "credentialsSecret": "nats-user",
            "caSecret": "nats-ca",
        }
    },
    "linked": {"link": {"url": "https://gitops.example", "caSecret": "gitops-ca", "manage": True}},
    "shells": {"link": {"url": "https://gitops.example", "exec": True, "limits": {"exec": "true"}}},
    "looking": {
        "destinations": {"write": False, "createNamespaces": False},
        "link": {
            "url": "https://gitops.example:8443",
            "logs": False,
            "limits": {"readOnly": "true", "maxPerMinute": "60"},
        },
        "proxy": {"url": "http://proxy.example:3128", "except": "git.example"},
    },
    "nats-with-tls": {"nats": {"tlsSecret": "nats-tls"}},
    "redis-here": {"redis": {"enabled": True}},
    "own-redis": {"redis": {"url": "rediss://redis.example:6380/1"}},
    "secret-redis": {"redis": {"urlSecret": "redis-url"}},
    "namespaces": {"destinations": {"scope": "namespaces", "namespaces": list(SHOPS)}},
    "namespaces-and-a-look-around": {
        "destinations": {"scope": "namespaces", "namespaces": list(SHOPS), "readCluster": True}
    },
    "cluster": {"rights": {"profile": "cluster"}},
    "roles-and-custom-resources": {
        "destinations": {"scope": "namespaces", "namespaces": list(SHOPS)},
        "rights": {
            "roles": True,
            "kinds": [{"apiGroups": ["example.org"], "resources": ["things"]}],
        },
    },
    "no-new-namespaces": {"destinations": {"createNamespaces": False}},
    "bare": {
        "networkPolicy": {"enabled": False},
        "podDisruptionBudget": {"enabled": False},
        "crds": {"install": False},
    },
    "own-ways": {
        "image": {"repository": "registry.example/gitops", "tag": "1.2.3", "pullPolicy": "Always"},
        "imagePullSecrets": [{"name": "registry"}],
        "agent": {
            "replicas": 2,
            "env": [{"name": "GITOPS_CONCURRENCY", "value": "32"}],
            "resources": {"requests": {"cpu": "1"}},
        },
        "rights": {
            "profile": "kinds",
            "kinds": [{"apiGroups": ["example.org"], "resources": ["things"]}],
        },
        "nats": {"storage": "10Gi", "storageClass": "fast"},
        "webhook": {"port": 9090, "allowedFrom": [{"namespaceSelector": {}}]},
        "networkPolicy": {"egress": [{"ports": [{"port": 8443}]}]},
        "crds": {"keep": False},
        "traces": {
            "endpoint": "http://collector.observability:4318",
            "headersSecret": "collector",
            "serviceName": "prod agent",
            "resourceAttributes": "deployment.environment.name=prod",
            "sampler": "parentbased_traceidratio",
            "samplerArgument": "0.1",
        },
    },
}


def the(kind: str, objects: Iterable[Object], name: str = "") -> Object:
    """The only one of that kind, or the one whose name ends so."""
    (found,) = all_of(kind, objects, name)
    return found


def all_of(kind: str, objects: Iterable[Object], name: str = "") -> list[Object]:
    return [
        one for one in objects if one["kind"] == kind and one["metadata"]["name"].endswith(name)
    ]


def environment(objects: Iterable[Object]) -> dict[str, str]:
    """Of the agent's container; what Kubernetes fills in is the name of its source."""
    pod = the("Deployment", objects, "-agent")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    return {one["name"]: one.get("value") or str(one["valueFrom"]) for one in container["env"]}
