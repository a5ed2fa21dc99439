"""The applications whose states the dashboard's fixtures show, made by a real agent of commits.

Each is brought where it is wanted by what a person would do: a push, an edit in the cluster, an
image that cannot be pulled, a manifest that is no YAML.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from playground.demo.repository import NAMESPACE
from playground.demo.running_demo import RunningDemo

SYNCED = "payments"
RELEASES = 6
"""Commits of the synced application: its history is long."""
FIXTURE_STATES: Mapping[str, Mapping[str, str]] = {
    SYNCED: {"attention": "", "health": "Healthy", "sync": "Synced"},
    "checkout": {"sync": "OutOfSync", "health": "Healthy"},
    "catalogue": {"health": "Degraded", "sync": "Synced"},
    "orders": {"attention": "Unreadable"},
    "search": {"attention": "SyncFailed", "phase": "Running"},
    "billing": {"attention": "Missing"},
}
"""By application: fields of the list that tell that its state is reached."""

_AUTOMATED = {"automated": {"prune": True, "selfHeal": True}}
_RETRIED = {"automated": {}, "retry": {"limit": 5, "backoff": {"duration": "60s"}}}
_POLICIES: Mapping[str, Mapping[str, Any]] = {
    "checkout": {},
    "search": _RETRIED,
    "billing": {},
}


async def make_applications(demo: RunningDemo) -> None:
    """Commit the files and create the Applications; `FIXTURE_STATES` says what they become."""
    demo.repository.commit(_first_files(), message="first version")
    for name in FIXTURE_STATES:
        await demo.laptop.create(_application(name, demo.repository.url))


async def release(demo: RunningDemo, number: int) -> str:
    """Push the next version of the synced application; the commit."""
    files = {f"{SYNCED}/web.yaml": _deployment(SYNCED, f"1.{number}.0")}
    return demo.repository.commit(files, message=f"bump image to 1.{number}.0")


async def drift(demo: RunningDemo) -> None:
    """Edit by hand what Git says otherwise; nothing heals it, so it stays."""
    path = "/apis/apps/v1/namespaces/shop/deployments/checkout"
    await demo.api.patch(path, {"spec": {"replicas": 3}})


def _first_files() -> dict[str, str]:
    files = {
        f"{name}/web.yaml": _deployment(name, "1.0.0") for name in (SYNCED, "checkout", "catalogue")
    }
    for name in (SYNCED, "checkout", "billing"):
        files[f"{name}/settings.yaml"] = _settings(name)
    files[f"{SYNCED}/service.yaml"] = _SERVICE
    files["catalogue/job.yaml"] = _FAILING_POD
    files["orders/settings.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: [\n"
    files["search/web.yaml"] = _deployment("search", "1.0.0").replace(
        "replicas: 1", 'replicas: "one"'
    )
    return files


def _application(name: str, url: str) -> dict[str, Any]:
    policy = _POLICIES.get(name, _AUTOMATED)
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {"team": "core", "plumbline.dev/service": name},
        },
        "spec": {
            "project": "default",
            "source": {"repoURL": url, "targetRevision": "main", "path": name},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": "shop"},
            "syncPolicy": {"syncOptions": ["CreateNamespace=true"], **policy},
        },
    }


def _deployment(name: str, tag: str) -> str:
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec: {{containers: [{{name: web, image: "registry.example/shop/{name}:{tag}"}}]}}
"""


def _settings(name: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{LEVEL: info}}\n"


_SERVICE = f"""\
apiVersion: v1
kind: Service
metadata: {{name: {SYNCED}}}
spec: {{selector: {{app: {SYNCED}}}, ports: [{{port: 80}}]}}
"""
_FAILING_POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: catalogue-import
  labels: {playground/fail: "true"}
  annotations: {playground/reason: ImagePullBackOff}
spec: {containers: [{name: import, image: "registry.example/shop/import:9"}]}
"""
