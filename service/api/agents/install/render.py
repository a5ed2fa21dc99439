"""Three formats of the same install options: plain YAML, Helm values, a kustomize overlay. Pure.

YAML is written from its content with every text quoted, so nothing that a person typed can become
structure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from service.api.agents.install.objects import objects
from service.api.agents.install.options import InstallFeature, InstallOptions, InstallScope
from service.api.agents.install.overlay import overlay


def as_yaml(options: InstallOptions) -> str:
    head = (
        f"# Agent {options.agent}. Put the one-time token in first; it stands in no file:\n"
        f"#   kubectl create namespace {options.namespace}\n"
        f"#   kubectl -n {options.namespace} create secret generic {options.token_secret}"
        " --from-literal=token=TOKEN\n"
        "# Then: kubectl apply --server-side -f FILE\n"
    )
    return head + "".join("---\n" + dump(it) for it in objects(options))


def as_helm(options: InstallOptions) -> str:
    """Values of the chart in deploy/chart."""
    within = options.scope is InstallScope.NAMESPACE
    values: dict[str, Any] = {
        "image": {"repository": options.repository, "tag": options.version},
        "imagePullSecrets": [{"name": options.pull_secret}] if options.pull_secret else [],
        "agent": {"account": options.account, "name": options.agent},
        "nats": {"image": options.from_registry(_NATS)},
        "link": {
            "url": options.service_url,
            "tokenSecret": options.token_secret,
            "caSecret": options.ca_secret,
            "manage": InstallFeature.MANAGE in options.features,
            "logs": InstallFeature.LOGS in options.features,
            "limits": options.limits,
        },
        "proxy": {"url": options.proxy},
        "destinations": {
            "scope": "namespaces" if within else "cluster",
            "namespaces": [options.destination] if within else [],
            "write": InstallFeature.SYNC in options.features,
            "createNamespaces": InstallFeature.CREATE_NAMESPACES in options.features,
        },
        "rights": {
            "profile": options.profile,
            "roles": options.roles,
            "kinds": options.chosen_kinds,
        },
        "crds": {"install": options.definitions},
    }
    install = f"# helm install gitops deploy/chart -n {options.namespace} -f values.yaml\n"
    return _namespaces(options) + install + dump(values)


def as_kustomize(options: InstallOptions) -> str:
    """An overlay over deploy/base; patches are written as YAML inside of the YAML."""
    made = overlay(options)
    for it in made["patches"]:
        it["patch"] = dump(it["patch"])
    made["transformers"] = [dump(it) for it in made["transformers"]]
    return (
        _namespaces(options)
        + f"# deploy/overlays/{options.agent}/kustomization.yaml\n"
        + dump(made)
    )


def _namespaces(options: InstallOptions) -> str:
    """What has to be there first: neither Helm nor an overlay makes the destination."""
    needed = options.scope is InstallScope.NAMESPACE
    return f"# First: kubectl create namespace {options.destination}\n" if needed else ""


_NATS = "nats:2.12-alpine"
_UNPRINTABLE = re.compile(r"[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
"""What YAML wants escaped beyond JSON."""


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
