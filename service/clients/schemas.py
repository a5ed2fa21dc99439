"""ApiSchemas: the component schemas that requests and answers of the API use, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_REF = "#/components/schemas/"


class ApiSchemas:
    """The schemas of bodies and answers; those of query parameters are left out."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._all: Mapping[str, Any] = document["components"]["schemas"]
        self._paths: Mapping[str, Any] = document["paths"]

    def used(self) -> dict[str, Mapping[str, Any]]:
        """The schemas that any body or answer refers to, sorted by name."""
        operations = [it for methods in self._paths.values() for it in methods.values()]
        roots = [[it.get("requestBody", {}), it["responses"]] for it in operations]
        return self.reachable(sorted(set(references(roots))))

    def reachable(self, names: list[str]) -> dict[str, Mapping[str, Any]]:
        """The named schemas, and those that they refer to, sorted by name."""
        found: dict[str, Mapping[str, Any]] = {}
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found[name] = self._all[name]
                waiting += references(self._all[name])
        return dict(sorted(found.items()))


def references(schema: Any) -> Iterator[str]:
    """The names of the schemas that a part of the document refers to."""
    if isinstance(schema, Mapping):
        if "$ref" in schema:
            yield name_of(schema)
        for it in schema.values():
            yield from references(it)
    elif isinstance(schema, list):
        for it in schema:
            yield from references(it)


def name_of(schema: Mapping[str, Any]) -> str:
    """The name that `$ref` refers to; empty where the schema is written in place."""
    return str(schema.get("$ref", "")).removeprefix(_REF)


def is_page(name: str) -> bool:
    """`Page_Role_` is the page of roles: clients have one generic page."""
    return name.startswith("Page_")
