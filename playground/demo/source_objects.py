"""What the scene `sources` deploys, and the objects that let the agent read it. Pure.

One Application for each kind of source, as a user of Argo CD would write them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from playground.demo.repository import NAMESPACE, application

CHART = "web"
CHARTS = "charts"
"""The folder of the charts in the registry."""
SIGNED_PROJECT = "signed"
VALUES = "orders/values.yaml"
HOSTS_CONFIG_MAP = "argocd-ssh-known-hosts-cm"
KEYS_CONFIG_MAP = "argocd-gpg-keys-cm"

_TYPE = "argocd.argoproj.io/secret-type"
_CHART_FILES = {
    "values.yaml": "greeting: hello\nreplicas: 1\n",
    "templates/config.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data: {chart: "{{ .Chart.Version }}", greeting: {{ .Values.greeting | quote }}}
""",
    "templates/deployment.yaml": """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec:
      containers: [{name: web, image: "registry.example/web:{{ .Chart.Version }}"}]
""",
}
_DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      containers: [{{name: {name}, image: "registry.example/{name}:{tag}"}}]
"""


def chart_files() -> Mapping[str, str]:
    return _CHART_FILES


def values(greeting: str) -> Mapping[str, str]:
    """The values of `orders`, which are in Git while its chart is in the registry."""
    return {VALUES: f"greeting: {greeting}\nreplicas: 2\n"}


def deployment(name: str, tag: str) -> Mapping[str, str]:
    return {"deploy/deployment.yaml": _DEPLOYMENT.format(name=name, tag=tag)}


def catalogue(registry: str) -> dict[str, Any]:
    """An Application of a chart, which follows a range of versions."""
    return application("catalogue", source=_chart(registry, "1.x"))


def orders(registry: str, values_url: str) -> dict[str, Any]:
    """An Application of two sources: a chart of a fixed version, and its values."""
    helm = {"valueFiles": [f"$values/{VALUES}"]}
    return application(
        "orders",
        sources=[
            {**_chart(registry, "1.0.0"), "helm": helm},
            {"repoURL": values_url, "targetRevision": "main", "ref": "values"},
        ],
    )


def deployed_folder(name: str, url: str, project: str = "default") -> dict[str, Any]:
    """An Application of one folder of manifests."""
    source = {"repoURL": url, "targetRevision": "main", "path": "deploy"}
    return application(name, source=source, project=project)


def signed_project(key: str) -> dict[str, Any]:
    """A project whose commits this GnuPG key has to have signed."""
    policy = {"repos": [{"url": "*"}], "gpg": {"mode": "head", "keys": [key]}}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": SIGNED_PROJECT, "namespace": NAMESPACE},
        "spec": {
            "sourceRepos": ["*"],
            "destinations": [{"server": "*", "namespace": "*"}],
            "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
            "sourceIntegrity": {"git": {"policies": [policy]}},
        },
    }


def registry_secret(registry: str) -> dict[str, Any]:
    """A Secret for all charts of the registry, which speaks plain HTTP on loopback."""
    data = {"url": registry, "type": "helm", "insecureOCIForceHttp": "true"}
    return _secret("registry", "repo-creds", data)


def deploy_key_secret(url: str, private_key: str) -> dict[str, Any]:
    data = {"url": url, "type": "git", "sshPrivateKey": private_key}
    return _secret("ledger", "repository", data)


def config_map(name: str, data: Mapping[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "data": dict(data),
    }


def _secret(name: str, kind: str, data: Mapping[str, str]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": NAMESPACE, "labels": {_TYPE: kind}}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": dict(data)}


def _chart(registry: str, version: str) -> dict[str, Any]:
    return {"repoURL": f"{registry}/{CHARTS}", "chart": CHART, "targetRevision": version}
