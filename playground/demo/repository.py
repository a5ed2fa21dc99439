"""What the demo's Git repository holds. Pure.

Three applications, one of each kind of source, and one that is broken on purpose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

NAMESPACE = "argocd"
APPLICATIONS = ("guestbook", "shop", "podinfo")
IMAGE = "registry.example/web"

_DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: guestbook
spec:
  replicas: 2
  selector: {{matchLabels: {{app: guestbook}}}}
  template:
    metadata: {{labels: {{app: guestbook}}}}
    spec:
      containers:
        - name: web
          image: registry.example/web:{tag}
          ports: [{{containerPort: 8080}}]
          resources: {{requests: {{cpu: 100m, memory: 64Mi}}}}
"""

_SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: guestbook, annotations: {argocd.argoproj.io/sync-wave: "1"}}
spec:
  selector: {app: guestbook}
  ports: [{port: 80, targetPort: 8080}]
"""

_SMOKE_TEST = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: guestbook-smoke-test
  annotations: {argocd.argoproj.io/hook: PostSync}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers: [{name: test, image: "registry.example/smoke-test:1.0"}]
"""
"""It runs after each sync, so that a push is live as soon as without it."""

BANNER = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: guestbook-banner}
data:
  text: "This file is removed from Git later on, and its object with it."
"""

BROKEN = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: guestbook
spec:
  replicas: 2
   selector: {matchLabels: {app: guestbook}}
"""

_CHECKOUT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: checkout}
spec:
  replicas: 1
  progressDeadlineSeconds: 2
  selector: {matchLabels: {app: checkout}}
  template:
    metadata: {labels: {app: checkout}}
    spec:
      containers: [{name: checkout, image: "registry.example/checkout:missing"}]
"""
MISSING_TAG = "missing"
"""The playground's nodes cannot pull an image with this tag: see playground/stages.yaml."""

SHOP_IMAGE = "registry.example/shop"


def shop_values(tag: str) -> str:
    return f"replicas: 1\nimage: {{repository: {SHOP_IMAGE}, tag: '{tag}'}}\n"


_CHART = {
    "shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\nappVersion: '1.0'\n",
    "shop/values.yaml": shop_values("1.0"),
    "shop/values-demo.yaml": "replicas: 2\n",
    "shop/templates/deployment.yaml": """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
  labels: {app: {{ .Release.Name }}, chart: {{ .Chart.Name }}-{{ .Chart.Version }}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec:
      containers:
        - name: shop
          image: {{ .Values.image.repository }}:{{ .Values.image.tag }}
""",
    "shop/templates/config.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-settings}
data:
  replicas: {{ .Values.replicas | quote }}
""",
}

_KUSTOMIZATION = {
    "podinfo/base/kustomization.yaml": "resources: [deployment.yaml, settings.yaml]\n",
    "podinfo/base/deployment.yaml": """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: podinfo}
spec:
  replicas: 1
  selector: {matchLabels: {app: podinfo}}
  template:
    metadata: {labels: {app: podinfo}}
    spec:
      containers: [{name: podinfo, image: registry.example/podinfo}]
""",
    "podinfo/base/settings.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {colour: blue}
""",
    "podinfo/overlays/demo/kustomization.yaml": """\
resources: [../../base]
namePrefix: demo-
images: [{name: registry.example/podinfo, newTag: "6.1"}]
replicas: [{name: podinfo, count: 2}]
""",
}


def guestbook_deployment(tag: str) -> str:
    return _DEPLOYMENT.format(tag=tag)


def first_commit() -> dict[str, str]:
    return {
        "guestbook/deployment.yaml": guestbook_deployment("1.0"),
        "guestbook/service.yaml": _SERVICE,
        "guestbook/smoke-test.yaml": _SMOKE_TEST,
        "guestbook/banner.yaml": BANNER,
        "checkout/deployment.yaml": _CHECKOUT,
        **_CHART,
        **_KUSTOMIZATION,
    }


def applications(url: str) -> tuple[dict[str, Any], ...]:
    """Argo CD Applications, as a user of Argo CD would write them."""
    return (
        _of_path("guestbook", url, "guestbook"),
        _of_path("shop", url, "shop", helm={"valueFiles": ["values-demo.yaml"]}),
        _of_path("podinfo", url, "podinfo/overlays/demo"),
    )


def remote_destination(application: dict[str, Any], cluster: str) -> dict[str, Any]:
    """The same Application, for the cluster with this name."""
    destination = {"name": cluster, "namespace": "demo"}
    return {**application, "spec": {**application["spec"], "destination": destination}}


def unhealthy_application(url: str) -> dict[str, Any]:
    """An application whose image does not exist, for a person to find and to repair."""
    return _of_path("checkout", url, "checkout")


def remote_application(url: str) -> dict[str, Any]:
    """The same chart in another environment, looked at by the clock: no webhook reaches there."""
    return _of_path("shop", url, "shop")


def application(
    name: str,
    *,
    source: Mapping[str, Any] | None = None,
    sources: Sequence[Mapping[str, Any]] = (),
    project: str = "default",
) -> dict[str, Any]:
    """An Application of one source or of several, which syncs by itself into `demo`."""
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {"plumbline.dev/service": name},
            "finalizers": ["resources-finalizer.argocd.argoproj.io"],
        },
        "spec": {
            "project": project,
            **({"source": dict(source)} if source is not None else {"sources": list(sources)}),
            "destination": {"server": "https://kubernetes.default.svc", "namespace": "demo"},
            "syncPolicy": {
                "automated": {"prune": True, "selfHeal": True},
                "syncOptions": ["CreateNamespace=true"],
            },
        },
    }


def _of_path(name: str, url: str, path: str, **more: Any) -> dict[str, Any]:
    source = {"repoURL": url, "targetRevision": "main", "path": path, **more}
    return application(name, source=source)
