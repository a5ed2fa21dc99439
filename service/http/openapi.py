"""The OpenAPI 3.1 document, made from the endpoints and the types that they name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from inspect import cleandoc
from typing import Any

import msgspec

from service.access.permissions import Permission
from service.http.endpoint import Endpoint, NoInput, OpenAccess, RequestModel
from service.http.problem import MEDIA, ProblemDetails

_REF = "#/components/schemas/{name}"
_PARAMETER = re.compile(r"{(\w+)}")
_ERRORS = ("400", "401", "403", "404", "409", "412", "413", "415", "422", "428", "429")


def document(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    rows = tuple(endpoints)
    types = {it.takes for it in rows if it.takes is not NoInput}
    answers = [it.gives for it in rows if it.gives is not None]
    taken = _schemas([*sorted(types, key=str), ProblemDetails])
    schemas = {name: _as_answered(schema) for name, schema in _schemas(answers).items()}
    paths: dict[str, dict[str, Any]] = {}
    for row in rows:
        paths.setdefault(row.full_path, {})[row.method.lower()] = _operation(row)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "GitOps service",
            "version": "1",
            "description": "Everything the dashboard does. Errors are application/problem+json.",
        },
        "paths": paths,
        "components": {"schemas": {**schemas, **taken}, "securitySchemes": _SCHEMES},
    }


def _schemas(types: Sequence[Any]) -> dict[str, Any]:
    _, schemas = msgspec.json.schema_components(types, ref_template=_REF)
    return {name: _cleaned(schema) for name, schema in schemas.items()}


def _cleaned(schema: Mapping[str, Any]) -> dict[str, Any]:
    description = {"description": cleandoc(it)} if (it := schema.get("description")) else {}
    return {**schema, **description}


def _as_answered(schema: Mapping[str, Any]) -> dict[str, Any]:
    """An answer has every field: a default is that of its constructor, and is not left out."""
    properties = schema.get("properties", {})
    defaulted = [name for name, it in properties.items() if "default" in it]
    required = {"required": [*schema.get("required", ()), *defaulted]} if properties else {}
    return {**schema, **required}


_SCHEMES = {
    "token": {"type": "http", "scheme": "bearer", "description": "An API token, `gt_...`."},
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "gitops_session",
        "description": "Of POST /login, with the prefix `__Host-` over HTTPS; changes also need"
        " X-CSRF-Token and our own Origin.",
    },
}


def _operation(row: Endpoint) -> dict[str, Any]:
    made: dict[str, Any] = {
        "operationId": row.name,
        "summary": row.summary,
        "tags": [row.path.split("/")[1]],
        "parameters": [*_path_parameters(row), *_query_parameters(row), *_headers(row)],
        "responses": _responses(row),
        "security": [] if row.needs is OpenAccess.EVERYONE else [{"token": []}, {"session": []}],
    }
    if isinstance(row.needs, Permission):
        made["description"] = f"Needs the permission `{row.needs}`."
    if row.has_body and row.takes is not NoInput:
        schema = {"$ref": _REF.format(name=row.takes.__name__)}
        made["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema}},
        }
    return made


def _path_parameters(row: Endpoint) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "minLength": 1, "maxLength": 64},
        }
        for name in _PARAMETER.findall(row.path)
    ]


def _query_parameters(row: Endpoint) -> list[dict[str, Any]]:
    if row.has_body:
        return []
    return [_query_parameter(field, row.takes) for field in msgspec.structs.fields(row.takes)]


def _query_parameter(field: msgspec.structs.FieldInfo, _of: type[RequestModel]) -> dict[str, Any]:
    (schema,), _ = msgspec.json.schema_components([field.type], ref_template=_REF)
    return {
        "name": field.encode_name,
        "in": "query",
        "required": field.required,
        "schema": schema,
    }


def _headers(row: Endpoint) -> list[dict[str, Any]]:
    text = {"type": "string", "maxLength": 200}
    if row.method in ("PATCH", "PUT"):
        return [{"name": "If-Match", "in": "header", "required": False, "schema": text}]
    if row.status == 202:
        return [{"name": "Idempotency-Key", "in": "header", "required": False, "schema": text}]
    return []


def _responses(row: Endpoint) -> Mapping[str, Any]:
    problem = {"content": {MEDIA: {"schema": {"$ref": _REF.format(name="ProblemDetails")}}}}
    found: dict[str, Any] = {
        code: {"description": _REASONS[code], **problem} for code in (*_ERRORS, "502", "503", "504")
    }
    if row.status == 101:
        found["101"] = {"description": f"{row.summary.rstrip('.')}: the WebSocket is open"}
    elif row.gives is not None:
        (schema,), _ = msgspec.json.schema_components([row.gives], ref_template=_REF)
        content = {row.media: {"schema": schema}}
        found[str(row.status)] = {"description": row.summary, "content": content}
    elif row.media != "application/json":
        found[str(row.status)] = {"description": row.summary, "content": {row.media: {}}}
    else:
        found["204"] = {"description": row.summary}
    return dict(sorted(found.items()))


_REASONS = {
    "400": "It cannot be read",
    "401": "Authentication required",
    "403": "Permission denied",
    "404": "Not there, or not to be seen",
    "409": "In conflict with what there is",
    "412": "Changed meanwhile",
    "413": "Larger than 1 MiB",
    "415": "Not JSON",
    "422": "A field is refused",
    "428": "If-Match is missing",
    "429": "Too many requests",
    "502": "The agent could not complete the task",
    "503": "Temporarily unavailable: an agent is not connected, or the service is busy",
    "504": "No answer from the agent",
}
