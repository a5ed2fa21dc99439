"""The description of the API: `/openapi.json`, and `/docs` as a page for people.

The page is made from the same document and loads no script or style from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

import msgspec
from aiohttp import web

from service.http.call import ApiCall
from service.http.endpoint import Endpoint, NoInput, OpenAccess
from service.http.openapi import document
from service.http.problem import HEADERS

_STYLE = """
:root { color-scheme: light dark; font: 14px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
summary { cursor: pointer; padding: .25rem 0; } code { font-family: ui-monospace, monospace; }
b { display: inline-block; min-width: 4.5rem; } pre { overflow: auto; padding: .5rem; }
table { border-collapse: collapse; } td, th { text-align: left; padding: .15rem .75rem .15rem 0; }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"


def endpoints(described: tuple[Endpoint, ...], *, public: bool) -> tuple[Endpoint, ...]:
    """Make the two endpoints of the description, which covers `described` and these."""
    made: list[Endpoint] = []
    needs = OpenAccess.EVERYONE if public else OpenAccess.LOGGED_IN

    async def get_openapi(_call: ApiCall, _params: NoInput) -> web.Response:
        """Get the OpenAPI 3.1 document of this API."""
        raw = msgspec.json.encode(document((*described, *made)))
        return web.Response(body=raw, content_type="application/json", headers=HEADERS)

    async def get_docs(_call: ApiCall, _params: NoInput) -> web.Response:
        """Get the documentation of this API as a page."""
        text = page(document((*described, *made)))
        headers = {**HEADERS, "Content-Security-Policy": _POLICY}
        return web.Response(text=text, content_type="text/html", headers=headers)

    made += [
        Endpoint(
            method="GET",
            path="/openapi.json",
            needs=needs,
            handler=get_openapi,
            gives=dict[str, Any],
        ),
        Endpoint(method="GET", path="/docs", needs=needs, handler=get_docs, media="text/html"),
    ]
    return tuple(made)


def page(described: Mapping[str, Any]) -> str:
    operations = [
        (path, method, operation)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    ]
    tags = sorted({it["tags"][0] for _, _, it in operations})
    sections = "".join(
        f"<h2>{escape(tag)}</h2>"
        + "".join(_operation(*it) for it in operations if tag in it[2]["tags"])
        for tag in tags
    )
    schemas = "".join(_schemas(described["components"]["schemas"]))
    info = described["info"]
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(info['title'])}</title>"
        f"<style>{_STYLE}</style><h1>{escape(info['title'])}</h1>"
        f"<p>{escape(info['description'])}</p>{sections}<h2>Types</h2>{schemas}</html>"
    )


def _operation(path: str, method: str, operation: Mapping[str, Any]) -> str:
    rows = "".join(_parameter(it) for it in operation["parameters"])
    table = f"<table>{rows}</table>" if rows else ""
    body = operation.get("requestBody", {}).get("content", {})
    request_body = "".join(f"<p>Body: {_type(it['schema'])}</p>" for it in body.values())
    return (
        f"<details><summary><b>{method.upper()}</b> <code>{escape(path)}</code> "
        f"{escape(operation['summary'])}</summary><p>{escape(operation.get('description', ''))}</p>"
        f"{table}{request_body}{_answer(operation['responses'])}</details>"
    )


def _answer(responses: Mapping[str, Any]) -> str:
    found = [
        f"<p>{code}: {_type(content.get('schema', {}))}</p>"
        for code, response in responses.items()
        for content in response.get("content", {}).values()
        if code.startswith("2")
    ]
    return "".join(found)


def _parameter(it: Mapping[str, Any]) -> str:
    needed = "required" if it["required"] else ""
    return (
        f"<tr><td><code>{escape(it['name'])}</code><td>{it['in']}<td>{needed}"
        f"<td>{_type(it['schema'])}"
    )


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f"<a href='#{name}'>{name}</a>"
    return f"<code>{escape(str(schema.get('type', 'any')))}</code>"


def _schemas(schemas: Mapping[str, Any]) -> Iterator[str]:
    for name, schema in sorted(schemas.items()):
        text = msgspec.json.format(msgspec.json.encode(schema), indent=2).decode()
        head = f"<details id='{escape(name)}'><summary>{escape(name)}</summary>"
        yield f"{head}<pre>{escape(text)}</pre></details>"
