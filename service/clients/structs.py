"""Python structs of the API's answers, as `cli/remote/service_types.py` has them.

A client reads answers of older and newer services. Fields that it does not know are let pass; a
field that is missing takes the empty value of its type, except what identifies an item. A word of
an enumeration is any text: a newer service may have one more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from service.clients.schemas import ApiSchemas, name_of, references

_HEAD = '''"""Answers of the service, generated from its OpenAPI document by `make docs`.

A field that an answer lacks takes the empty value of its type; unknown fields are let pass.
"""

from __future__ import annotations

from typing import Any

import msgspec


class ServiceAnswer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of the answers: their JSON has names in camelCase."""
'''
_IDENTIFYING = ("id", "name", "key", "sequence")
"""Fields that an answer read by itself must have."""
_PLAIN = {
    "string": ("str", '""'),
    "integer": ("int", "0"),
    "number": ("float", "0.0"),
    "boolean": ("bool", "False"),
}
_CAPITAL = re.compile(r"(?<=[a-z0-9])([A-Z])")


def structs(document: Mapping[str, Any], roots: tuple[str, ...]) -> str:
    """The module with the structs of `roots` and of what they refer to, formatted as by ruff."""
    schemas = ApiSchemas(document).reachable(list(roots))
    objects = {name: it for name, it in schemas.items() if "properties" in it}
    ordered = _in_order(objects)
    made = (_struct(name, objects, is_root=name in roots) for name in ordered)
    return "\n\n".join([_HEAD, *made])


def _in_order(objects: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Each struct after those that it refers to, which are the defaults of its fields."""
    ordered: dict[str, None] = {}

    def add(name: str) -> None:
        for used in sorted(set(references(objects[name])) & set(objects)):
            if used != name:
                add(used)
        ordered[name] = None

    for name in objects:
        add(name)
    return list(ordered)


def _struct(name: str, objects: Mapping[str, Mapping[str, Any]], *, is_root: bool) -> str:
    schema = objects[name]
    lines = [f"class {name}(ServiceAnswer, frozen=True, kw_only=True):"]
    if text := schema.get("description", ""):
        lines += [*_docstring(text), ""]
    return "\n".join([*lines, *_fields(schema, objects, is_root=is_root), ""])


def _docstring(text: str) -> Iterator[str]:
    lines = text.splitlines()
    if len(lines) == 1:
        yield f'    """{text}"""'
        return
    yield f'    """{lines[0]}'
    yield from (f"    {it}".rstrip() for it in lines[1:])
    yield '    """'


def _fields(
    schema: Mapping[str, Any], objects: Mapping[str, Any], *, is_root: bool
) -> Iterator[str]:
    required = schema.get("required", ())
    for name, it in schema["properties"].items():
        type_, empty = _type(it, objects)
        if name not in required:
            type_, empty = f"{type_} | None", "None"
        default = "" if is_root and name in _IDENTIFYING else f" = {empty}"
        yield f"    {_snake(name)}: {type_}{default}"


def _snake(name: str) -> str:
    return _CAPITAL.sub(r"_\1", name).lower()


def _type(schema: Mapping[str, Any], objects: Mapping[str, Any]) -> tuple[str, str]:
    """The annotation, and the expression of its empty value."""
    if name := name_of(schema):
        return (name, f"{name}()") if name in objects else _PLAIN["string"]
    if "anyOf" in schema:
        return _optional(schema["anyOf"], objects)
    if "enum" in schema:
        return _PLAIN["string"]
    return _plain(schema, objects)


def _plain(schema: Mapping[str, Any], objects: Mapping[str, Any]) -> tuple[str, str]:
    match schema.get("type"):
        case "array":
            item, _ = _type(schema.get("items", {}), objects)
            return f"tuple[{item}, ...]", "()"
        case "object":
            return _mapping(schema, objects)
        case None:
            return "Any", "None"
        case plain:
            return _PLAIN[plain]


def _optional(parts: list[Mapping[str, Any]], objects: Mapping[str, Any]) -> tuple[str, str]:
    """A value or null: answers have no other unions."""
    (value,) = [it for it in parts if it.get("type") != "null"]
    type_, _ = _type(value, objects)
    return f"{type_} | None", "None"


def _mapping(schema: Mapping[str, Any], objects: Mapping[str, Any]) -> tuple[str, str]:
    values = schema.get("additionalProperties")
    value = _type(values, objects)[0] if isinstance(values, Mapping) else "Any"
    return f"dict[str, {value}]", "{}"
