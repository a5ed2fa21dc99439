"""The work of all benchmarks as values: N applications of four objects in one repository. Pure.

Each application has a folder of plain YAML with a Deployment and three small objects. One namespace
takes all of them, so that the number of objects is four an application and no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

NAMESPACE = "argocd"
DESTINATION = "bench"
OBJECTS = 4
APPLICATIONS = f"/apis/argoproj.io/v1alpha1/namespaces/{NAMESPACE}/applications"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{DESTINATION}/deployments"
FIRST_TAG = "1.0"

Object = dict[str, Any]

_PLACES = {
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "Service": "/api/v1/namespaces/{}/services",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
}


def names(count: int) -> tuple[str, ...]:
    return tuple(f"app-{number:05}" for number in range(count))


def objects(name: str, tag: str = FIRST_TAG) -> tuple[Object, ...]:
    return (deployment(name, tag), _config(name), _service(name), _account(name))


def files(applications: tuple[str, ...]) -> dict[str, str]:
    """The repository's first commit."""
    return {
        f"apps/{name}/{one['kind'].lower()}.yaml": yaml.safe_dump(one)
        for name in applications
        for one in objects(name)
    }


def changed(name: str, tag: str) -> dict[str, str]:
    """What a person pushes: another image in one application."""
    return {f"apps/{name}/deployment.yaml": yaml.safe_dump(deployment(name, tag))}


def application(name: str, url: str) -> Object:
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "project": "default",
            "source": {"repoURL": url, "targetRevision": "main", "path": f"apps/{name}"},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": DESTINATION},
            "syncPolicy": {"automated": {"prune": True, "selfHeal": True}},
        },
    }


def places(namespace: str) -> Iterator[str]:
    """The collections that the objects live in."""
    return (place.format(namespace) for place in _PLACES.values())


def placed(one: Object, namespace: str) -> tuple[str, Object]:
    """An object's path, and its body as an apply sends it."""
    body = {**one, "metadata": {**one["metadata"], "namespace": namespace}}
    return f"{_PLACES[one['kind']].format(namespace)}/{one['metadata']['name']}", body


def deployment(name: str, tag: str) -> Object:
    labels = {"app": name}
    container = {
        "name": "web",
        "image": f"registry.example/team/web:{tag}",
        "ports": [{"containerPort": 8080}],
        "env": [{"name": "COLOUR", "value": "blue"}, {"name": "APPLICATION", "value": name}],
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def _config(name: str) -> Object:
    data = {f"key-{line}": f"value {line} of {name}" for line in range(5)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def _service(name: str) -> Object:
    spec = {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": 8080}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def _account(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
