"""The same choices in three forms: one YAML file, values for the Helm chart, a kustomize overlay.

Pure. YAML is written as what it contains: every text quoted, so nothing that a person typed can
become structure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from service.api.install.objects import environment, objects
from service.api.install.options import Feature, Options, Scope
from service.api.install.rights import destination_rules


def as_yaml(options: Options) -> str:
    head = (
        f"# Agent {options.agent}. Put the one-time token in first; it stands in no file:\n"
        f"#   kubectl create namespace {options.namespace}\n"
        f"#   kubectl -n {options.namespace} create secret generic {options.token_secret}"
        " --from-literal=token=TOKEN\n"
    )
    return head + "".join("---\n" + dump(it) for it in objects(options))


def as_helm(options: Options) -> str:
    """Values of the chart in deploy/chart."""
    repository, _, tag = options.image.rpartition(":")
    extra = [it for it in environment(options) if it["name"] in _CHART_LACKS]
    written = [it for it in destination_rules(options) if "create" in it["verbs"]]
    values: dict[str, Any] = {
        "image": {"repository": repository, "tag": tag},
        "imagePullSecrets": [{"name": options.pull_secret}] if options.pull_secret else [],
        "agent": {"account": options.account, "name": options.agent, "env": extra},
        "link": {
            "url": options.service_url,
            "tokenSecret": options.token_secret,
            "manage": Feature.MANAGE in options.features,
        },
        "destinations": {
            "scope": "cluster" if options.scope is Scope.CLUSTER else "namespaces",
            "namespaces": [] if options.scope is Scope.CLUSTER else [options.namespace],
            "createNamespaces": any("namespaces" in it["resources"] for it in written),
        },
    }
    if options.ca_secret:
        values["link"]["caSecret"] = options.ca_secret
    return f"# helm install gitops deploy/chart -n {options.namespace} -f values.yaml\n" + dump(
        values
    )


def as_kustomize(options: Options) -> str:
    """An overlay over deploy/base."""
    patch = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "gitops-agent"},
        "spec": {
            "template": {
                "spec": {"containers": [{"name": "agent", "env": environment(options)}]},
            }
        },
    }
    if options.pull_secret:
        pull = [{"name": options.pull_secret}]
        patch["spec"]["template"]["spec"]["imagePullSecrets"] = pull  # type: ignore[index]
    repository, _, tag = options.image.rpartition(":")
    overlay = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": options.namespace,
        "resources": ["../../base"],
        "images": [{"name": "gitops-house/agent", "newName": repository, "newTag": tag}],
        "patches": [{"patch": dump(patch)}],
    }
    return dump(overlay)


_UNPRINTABLE = re.compile(r"[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
"""What YAML wants escaped beyond JSON."""
_CHART_LACKS = frozenset(
    {
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "NO_PROXY",
    }
)


def dump(value: Any) -> str:
    return "".join(f"{line}\n" for line in _lines(value))


def _lines(value: Any) -> list[str]:
    if isinstance(value, Mapping) and value:
        return [line for key, it in value.items() for line in _under(f"{_scalar(key)}:", it)]
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        return [line for it in value for line in _dashed(it)]
    return [_scalar(value)]


def _under(head: str, value: Any) -> list[str]:
    if isinstance(value, Mapping | list | tuple) and value:
        return [head, *(f"  {line}" for line in _lines(value))]
    return [f"{head} {_scalar(value)}"]


def _dashed(value: Any) -> list[str]:
    first, *rest = _lines(value)
    return [f"- {first}", *(f"  {line}" for line in rest)]


def _scalar(value: Any) -> str:
    """JSON's scalars are YAML's; words that can only be text stand without quotes."""
    if isinstance(value, str) and value.isascii() and _plain(value):
        return value
    return _UNPRINTABLE.sub(_escaped, json.dumps(value, ensure_ascii=False))


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found.group()):04x}"


def _plain(text: str) -> bool:
    word = text.replace("-", "").replace("_", "").replace(".", "").replace("/", "")
    reserved = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
    return word.isalnum() and text[0].isalpha() and text.lower() not in reserved
