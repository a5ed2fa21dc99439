"""TypeScript types of the API's schemas, as `web/src/api/schema.ts` has them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from service.clients.schemas import ApiSchemas, is_page, name_of

_HEAD = """/* Types of the service's API, generated from its OpenAPI document by `make docs`. */

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };
export type Labels = Record<string, string>;

/** One page of a list. `next` is the cursor of the following page, null on the last one. */
export interface Page<T> {
  items: T[];
  next: string | null;
  total: number | null;
}
"""
_LONGEST = 112
_PLAIN = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}


def typescript(document: Mapping[str, Any]) -> str:
    """The types of every body and answer, formatted as prettier formats them."""
    schemas = ApiSchemas(document).used()
    declared = (_declared(name, it) for name, it in schemas.items() if not is_page(name))
    return "\n".join([_HEAD, *declared])


def _declared(name: str, schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return _union(name, schema)
    lines = [
        *_comment(schema.get("description", "")),
        f"export interface {name} {{",
        *_fields(schema),
    ]
    return "\n".join([*lines, "}", ""])


def _fields(schema: Mapping[str, Any]) -> Iterator[str]:
    required = schema.get("required", ())
    for name, it in schema.get("properties", {}).items():
        optional = "" if name in required else "?"
        yield f"  {name}{optional}: {_type(it)};"


def _union(name: str, schema: Mapping[str, Any]) -> str:
    words = [json.dumps(it) for it in schema["enum"]]
    line = f"export type {name} = {' | '.join(words)};"
    if len(line) <= _LONGEST:
        return line + "\n"
    return "\n".join([f"export type {name} =", *(f"  | {it}" for it in words)]) + ";\n"


def _comment(text: str) -> list[str]:
    lines = text.splitlines()
    if len(lines) <= 1:
        return [f"/** {text} */"] if text else []
    return ["/**", *(f" * {it}".rstrip() for it in lines), " */"]


def _type(schema: Mapping[str, Any]) -> str:
    if name := name_of(schema):
        return name
    if "anyOf" in schema:
        return " | ".join(_type(it) for it in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(json.dumps(it) for it in schema["enum"])
    return _plain(schema)


def _plain(schema: Mapping[str, Any]) -> str:
    match schema.get("type"):
        case "array":
            return _list(_type(schema.get("items", {})))
        case "object":
            return _object(schema)
        case None:
            return "Json"
        case plain:
            return _PLAIN[plain]


def _list(item: str) -> str:
    return f"({item})[]" if " | " in item else f"{item}[]"


def _object(schema: Mapping[str, Any]) -> str:
    values = schema.get("additionalProperties")
    if not isinstance(values, Mapping):
        return "JsonObject"
    value = _type(values)
    return "Labels" if value == "string" else f"Record<string, {value}>"
