"""The Kubernetes objects of an agent, least rights first. Pure.

No object holds a credential: the enrolment token is read from a Secret that is made by hand, and
the agent makes its keys in the cluster.
"""

from __future__ import annotations

from service.api.install.nats import nats_objects
from service.api.install.options import Options, Scope
from service.api.install.parts import (
    LABELS,
    container_security,
    object_of,
    pod_security,
    selector,
)
from service.api.install.rights import Object, destination_rules, home_rules

_RBAC = "rbac.authorization.k8s.io"


def objects(options: Options) -> list[Object]:
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": options.namespace}},
        object_of("v1", "ServiceAccount", options, {}),
        *_rights(options),
        *nats_objects(options),
        object_of("apps/v1", "Deployment", options, {"spec": _deployment(options)}),
        object_of("networking.k8s.io/v1", "NetworkPolicy", options, {"spec": _network()}),
    ]


def environment(options: Options) -> list[Object]:
    plain = {
        "GITOPS_ACCOUNT": options.account,
        "GITOPS_AGENT": options.agent,
        "GITOPS_STATE_DIR": "/var/lib/gitops",
        "GITOPS_HTTP_HOST": "0.0.0.0",  # noqa: S104  inside a pod, behind a NetworkPolicy
        "GITOPS_NATS_URL": f"nats://{options.name}-nats:4222",
        "GITOPS_LINK_URL": options.service_url,
        "GITOPS_LINK_TOKEN_FILE": "/etc/gitops/enrolment/token",
    }
    if options.scope is Scope.NAMESPACE:
        plain["GITOPS_DESTINATION_NAMESPACES"] = options.namespace
    if options.proxy:
        plain["HTTPS_PROXY"] = plain["HTTP_PROXY"] = options.proxy
        plain["NO_PROXY"] = f"localhost,127.0.0.1,.svc,.cluster.local,{options.name}-nats"
    if options.ca_secret:
        plain["GITOPS_LINK_CA"] = "/etc/gitops/ca/ca.crt"
    home = {"fieldRef": {"fieldPath": "metadata.namespace"}}
    return [
        {"name": "GITOPS_NAMESPACE", "valueFrom": home},
        *({"name": name, "value": value} for name, value in plain.items()),
    ]


def _rights(options: Options) -> list[Object]:
    whole = options.scope is Scope.CLUSTER
    kind, more = ("ClusterRole", "-destinations") if whole else ("Role", "-destination")
    role = object_of(f"{_RBAC}/v1", kind, options, {"rules": destination_rules(options)}, more)
    if whole:
        del role["metadata"]["namespace"]
        role["metadata"]["name"] = f"{options.name}-{options.namespace}{more}"
    return [
        object_of(f"{_RBAC}/v1", "Role", options, {"rules": home_rules(options)}),
        _bound(options, "RoleBinding", "Role", options.name),
        role,
        _bound(options, f"{kind}Binding", kind, role["metadata"]["name"]),
    ]


def _bound(options: Options, kind: str, role_kind: str, role: str) -> Object:
    subject = {"kind": "ServiceAccount", "name": options.name, "namespace": options.namespace}
    reference = {"apiGroup": _RBAC, "kind": role_kind, "name": role}
    made = object_of(f"{_RBAC}/v1", kind, options, {"roleRef": reference, "subjects": [subject]})
    made["metadata"]["name"] = role
    if kind == "ClusterRoleBinding":
        del made["metadata"]["namespace"]
    return made


def _deployment(options: Options) -> Object:
    volumes, mounts = _volumes(options)
    pod: Object = {
        "serviceAccountName": options.name,
        "securityContext": pod_security(),
        "containers": [
            {
                "name": "agent",
                "image": options.image,
                "args": ["agent", "run"],
                "env": environment(options),
                "ports": [{"name": "http", "containerPort": 8080}],
                "livenessProbe": {"httpGet": {"path": "/healthz", "port": "http"}},
                "readinessProbe": {"httpGet": {"path": "/readyz", "port": "http"}},
                "resources": {
                    "requests": {"cpu": "250m", "memory": "512Mi"},
                    "limits": {"memory": "2Gi"},
                },
                "securityContext": container_security(),
                "volumeMounts": mounts,
            }
        ],
        "volumes": volumes,
    }
    if options.pull_secret:
        pod["imagePullSecrets"] = [{"name": options.pull_secret}]
    return {
        "replicas": 1,
        "selector": {"matchLabels": selector("agent")},
        "template": {"metadata": {"labels": {**LABELS, **selector("agent")}}, "spec": pod},
    }


def _volumes(options: Options) -> tuple[list[Object], list[Object]]:
    secret = {"secretName": options.token_secret, "optional": True, "defaultMode": 0o440}
    volumes: list[Object] = [
        {"name": "state", "emptyDir": {"sizeLimit": "2Gi"}},
        {"name": "tmp", "emptyDir": {"sizeLimit": "256Mi"}},
        {"name": "enrolment", "secret": secret},
    ]
    mounts: list[Object] = [
        {"name": "state", "mountPath": "/var/lib/gitops"},
        {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108  a volume of the pod's own
        {"name": "enrolment", "mountPath": "/etc/gitops/enrolment", "readOnly": True},
    ]
    if options.ca_secret:
        volumes.append({"name": "ca", "secret": {"secretName": options.ca_secret}})
        mounts.append({"name": "ca", "mountPath": "/etc/gitops/ca", "readOnly": True})
    return volumes, mounts


def _network() -> Object:
    """Nothing has to reach the agent but webhooks; it goes out to DNS, NATS, Git and HTTPS."""
    ports = [443, 6443, 80, 22, 4222, 3128, 8080]
    dns = [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]
    return {
        "podSelector": {"matchLabels": selector("agent")},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"ports": [{"port": "http"}]}],
        "egress": [{"ports": dns}, {"ports": [{"port": it} for it in ports]}],
    }
