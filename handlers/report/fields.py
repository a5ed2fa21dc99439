"""Fields of foreign objects: which of them hold secrets, and which only point at one. Pure.

Judged by structure, since kinds are other people's: the shape of a reference, an entry with a name
and a value, an embedded object with data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bus.redaction import is_sensitive, is_sensitive_path, looks_opaque
from bus.redaction.names import words_of

DATA = frozenset({"data", "stringData", "binaryData"})
_REFERENCE = words_of(
    """
    name namespace key secretName optional defaultMode items path mode kind apiVersion group
    expirationSeconds audience version property uid
    """
)
_POINTS = re.compile(r"(?:[rR]efs?|From|[sS]ecrets?|[tT]oken|[cC]redentials?)$")
_ENTRY_NAMES = ("name", "key", "header", "path", "pathname")
_ENTRY_VALUES = frozenset(
    {"value", "values", "content", "default", "defaultValue", "desired", "live", "before", "after"}
)
_EMBEDDED = frozenset({"metadata", "kind", "type", "engineVersion", "mergePolicy"})
_KNOWN_ANNOTATION = re.compile(
    r"(?:[\w-]+\.)*(?:kubernetes\.io|k8s\.io|argoproj\.io|helm\.sh|prometheus\.io|cert-manager\.io"
    r"|istio\.io|linkerd\.io|traefik\.io|fluxcd\.io|amazonaws\.com|gke\.io|azure\.com|keda\.sh"
    r"|stakater\.com|projectcontour\.io|cilium\.io|openshift\.io|gitops-house\.io|plumbline\.dev)/"
    r"|checksum/"
)
_OPEN_SETTINGS = frozenset({"caBundle", "image", "tag", "digest", "revision"})


def is_reference(name: str, value: object) -> bool:
    """Tell whether `value` under `name` names an object or a key of one, and holds no secret."""
    if isinstance(value, list | tuple):
        return bool(value) and all(is_reference(name, item) for item in value)
    if not isinstance(value, Mapping) or not _POINTS.search(name):
        return False
    return all(key in _REFERENCE and _is_plain(item) for key, item in value.items())


def hidden_members(entry: Mapping[str, Any]) -> frozenset[str]:
    """The members of an entry such as `{name: PASSWORD, value: x}` that are named by another."""
    for name in _ENTRY_NAMES:
        said = entry.get(name)
        if not isinstance(said, str):
            continue
        if is_sensitive_path(said) if name == "path" else is_sensitive(said):
            return _ENTRY_VALUES
    return frozenset()


def holds_data(name: str, owner: Mapping[str, Any]) -> bool:
    """Tell whether member `name` of a nested map is the data of an embedded Secret or the like."""
    if name in ("stringData", "binaryData"):
        return True
    kind = owner.get("kind")
    if name != "data" or kind == "Secret":
        return name == "data"
    return isinstance(owner[name], Mapping) and not _EMBEDDED.isdisjoint(owner)


def is_known_annotation(name: str) -> bool:
    """Tell whether an annotation is of a project's vocabulary, and its value a setting."""
    return _KNOWN_ANNOTATION.match(name) is not None


def is_login(name: str, value: str) -> bool:
    """Tell whether `auth: user:password` stands here, or what the word `auth` alone leaves open."""
    last = re.split(r"[._\-/]", name)[-1].lower()
    return last in ("auth", "basicauth") and (":" in value or looks_opaque(value))


def is_opaque_setting(name: str, value: str) -> bool:
    """Tell whether a variable, parameter, label or annotation has a value drawn at random."""
    return name not in _OPEN_SETTINGS and "checksum" not in name and looks_opaque(value)


def _is_plain(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(isinstance(item, Mapping) and item.keys() <= _REFERENCE for item in value)
    return isinstance(value, str | int | bool | None)
