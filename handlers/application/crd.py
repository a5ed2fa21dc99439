"""The CustomResourceDefinitions of Argo CD's kinds, generated from our types. Pure.

Kubernetes wants a structural schema: no references, no unions. Unknown fields are preserved at
every object, because an Application made for Argo CD may say more than we read. No defaults: they
would be written into people's objects. No status subresource: Argo CD has none, and its users patch
spec, operation and status of one object. An Application's status is left open and belongs to its
writer as a whole: only we write it, and checking one of Argo CD's size, and noting the manager of
each of its fields, costs the API server half of the write (docs/benchmarks.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from handlers.application.application import AppProjectSpec
from handlers.application.spec import ApplicationSpec, Operation

GROUP, VERSION = "argoproj.io", "v1alpha1"

Schema = Mapping[str, Any]
_OPEN: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_WHOLE: Schema = {**_OPEN, "x-kubernetes-map-type": "atomic"}
_REF = "#/components/schemas/"
_KEPT = ("type", "required", "enum")


class _Names(msgspec.Struct, frozen=True, kw_only=True):
    kind: str
    plural: str
    short: tuple[str, ...]


def definitions() -> Mapping[str, Schema]:
    """Return the CustomResourceDefinitions by plural name."""
    application = _Names(kind="Application", plural="applications", short=("app", "apps"))
    project = _Names(kind="AppProject", plural="appprojects", short=("appproj", "appprojs"))
    sets = _Names(kind="ApplicationSet", plural="applicationsets", short=("appset", "appsets"))
    spec, operation = schema_of(ApplicationSpec), schema_of(Operation)
    app_parts = {"spec": spec, "status": _WHOLE, "operation": operation}
    return {
        "applications": _definition(application, app_parts, ("metadata", "spec"), _COLUMNS),
        "appprojects": _definition(project, {"spec": schema_of(AppProjectSpec), "status": _OPEN}),
        "applicationsets": _definition(sets, {"spec": _OPEN, "status": _OPEN}),
    }


def schema_of(type_: type[msgspec.Struct]) -> Schema:
    """Make the structural OpenAPI v3 schema of one of our types."""
    (root,), components = msgspec.json.schema_components([type_], ref_template=_REF + "{name}")
    return _structural(root, components)


_COLUMNS = (
    ("Sync Status", ".status.sync.status", 0),
    ("Health Status", ".status.health.status", 0),
    ("Revision", ".status.sync.revision", 10),
    ("Project", ".spec.project", 10),
)


def _definition(
    names: _Names,
    parts: Mapping[str, Schema],
    required: tuple[str, ...] = ("metadata", "spec"),
    columns: tuple[tuple[str, str, int], ...] = (),
) -> Schema:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": names.kind,
                "listKind": f"{names.kind}List",
                "plural": names.plural,
                "singular": names.kind.lower(),
                "shortNames": list(names.short),
            },
            "scope": "Namespaced",
            "versions": [_version(parts, required, columns)],
        },
    }


def _version(
    parts: Mapping[str, Schema],
    required: tuple[str, ...],
    columns: tuple[tuple[str, str, int], ...],
) -> Schema:
    text = {"type": "string"}
    whole = {
        "type": "object",
        "required": list(required),
        "properties": {
            "apiVersion": text,
            "kind": text,
            "metadata": {"type": "object"},
            **parts,
        },
    }
    version: dict[str, Any] = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": whole},
    }
    if columns:
        version["additionalPrinterColumns"] = [
            {"name": name, "jsonPath": path, "type": "string", "priority": priority}
            for name, path, priority in columns
        ]
    return version


def _structural(schema: Schema, components: Mapping[str, Any]) -> Schema:
    if "$ref" in schema:
        return _structural(components[schema["$ref"].removeprefix(_REF)], components)
    if "anyOf" in schema:
        return _union(schema["anyOf"], components)
    plain: dict[str, Any] = {key: schema[key] for key in _KEPT if schema.get(key)}
    if plain.get("type") == "array":
        plain["items"] = _structural(schema["items"], components)
    elif plain.get("type") == "object":
        plain |= _object(schema, components)
    return plain


def _object(schema: Schema, components: Mapping[str, Any]) -> Schema:
    """A struct is open for fields that we do not know; a mapping has a schema for its values."""
    values = schema.get("additionalProperties")
    if isinstance(values, Mapping) and values:
        return {"additionalProperties": _structural(values, components)}
    fields = schema.get("properties", {})
    inner = {name: _structural(one, components) for name, one in fields.items()}
    return {**_OPEN, "properties": inner} if inner else _OPEN


def _union(choices: list[Schema], components: Mapping[str, Any]) -> Schema:
    """`X | None`, or a count that may be written as text: there are no other unions."""
    real = [one for one in choices if one.get("type") != "null"]
    if {one.get("type") for one in real} == {"integer", "string"}:
        return {"x-kubernetes-int-or-string": True}
    (only,) = real
    return {**_structural(only, components), "nullable": True}
