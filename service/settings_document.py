"""The document docs/service-settings.md, from the types: `python -m service.settings_document`."""

from __future__ import annotations

import sys

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from bus.spans.settings import traces
from service.settings import PREFIX, ServiceSettings

_HEAD = """\
# Settings of the service

<!-- Made by `make docs` from service/settings.py. Do not edit. -->

Each setting is an environment variable. What is wrong is told all at once at the start, with exit
code 2. What people decide (accounts, roles, agents) stands in the database, not here.

| Variable | Default | Meaning |
|---|---|---|
"""


def document() -> str:
    rows = (_row(name, field) for name, field in ServiceSettings.model_fields.items())
    return f"{_HEAD}{''.join(rows)}\n{traces()}"


def _row(name: str, field: FieldInfo) -> str:
    return f"| `{PREFIX}{name.upper()}` | {_default(field)} | {field.description} |\n"


def _default(field: FieldInfo) -> str:
    match field.default:
        case None | "" | ():
            return ""
        case bool() as switch:
            return f"`{str(switch).lower()}`"
        case value if value is PydanticUndefined:
            return "must be set"
        case float() as seconds:
            return f"`{seconds:g}`"
        case value:
            return f"`{value}`"


if __name__ == "__main__":
    sys.stdout.write(document())
