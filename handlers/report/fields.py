"""Sensitive fields and arguments: which hold a secret, and which only refer to one. Pure.

Fields are judged by structure, because anybody may define a kind: the shape of a reference, an
entry with a name and a value, an embedded object with data. Entries of a command line
(`--password x`, `-u me:x`, `mysql -px`) are read together with the one before them and with the
program, just as the program reads them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bus.redaction import is_sensitive, is_sensitive_path, looks_opaque
from bus.redaction.assignments import takes_password_with_p, without_flags
from bus.redaction.names import words_of
from handlers.manifest import access
from handlers.manifest.access import Manifest

LISTS = frozenset({"args", "command", "arguments", "cmd", "entrypoint"})
_WORDS_OF_PROGRAM = 2


def program_of(owner: Mapping[str, Any]) -> str:
    """The image and the first words of a container's command: `mysql mysqldump --all`."""
    image = owner.get("image")
    words = [image.rpartition("/")[2].partition(":")[0]] if isinstance(image, str) else []
    for name in ("command", "args"):
        items = owner.get(name)
        words.extend(_words(items) if isinstance(items, list | tuple) else ())
    return " ".join(words)


def hidden_arguments(items: Sequence[Any], program: str = "") -> dict[int, str]:
    """Find the entries to hide, by place, each with the prefix that stays readable."""
    program = program or " ".join(_words(items))
    with_p = takes_password_with_p(program)
    hidden: dict[int, str] = {}
    before = ""
    for place, item in enumerate(items):
        if not isinstance(item, str) or " " in item:
            before = ""
            continue
        if with_p and item.startswith("-p") and len(item) > len("-p"):
            hidden[place] = "-p"
        elif before.startswith("-") and not item.startswith("-"):
            line = f"{program} {before} {item}"
            if item and without_flags(line) != without_flags(f"{program} {before} ") + item:
                hidden[place] = ""
        before = item
    return hidden


def _words(items: Sequence[Any]) -> list[str]:
    words = [item for item in items if isinstance(item, str) and not item.startswith("-")]
    return [word for word in words[:_WORDS_OF_PROGRAM] if " " not in word]


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
    """The members to hide of an entry such as `{name: PASSWORD, value: x}`."""
    for name in _ENTRY_NAMES:
        label = entry.get(name)
        if not isinstance(label, str):
            continue
        if is_sensitive_path(label) if name == "path" else is_sensitive(label):
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


def is_foreign_secret(manifest: Manifest) -> bool:
    """Tell whether the object is a `Secret` of another API group."""
    return access.kind(manifest) == "Secret" and access.group(manifest) != ""


def is_known_annotation(name: str) -> bool:
    """Tell whether the annotation belongs to a known project, so that its value is a setting."""
    return _KNOWN_ANNOTATION.match(name) is not None


def is_login(name: str, value: str) -> bool:
    """Tell whether the field is a login: `auth: user:password`, or `auth` with a random value."""
    last = re.split(r"[._\-/]", name)[-1].lower()
    return last in ("auth", "basicauth") and (":" in value or looks_opaque(value))


def is_opaque_setting(name: str, value: str) -> bool:
    """Tell whether a variable, parameter, label or annotation has a value drawn at random."""
    return name not in _OPEN_SETTINGS and "checksum" not in name and looks_opaque(value)


def _is_plain(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(isinstance(item, Mapping) and item.keys() <= _REFERENCE for item in value)
    return isinstance(value, str | int | bool | None)
