"""The clients' types are what the service's OpenAPI document says."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import msgspec
import pytest

from service.clients.__main__ import generated_files
from service.clients.structs import structs
from service.clients.typescript import typescript
from tests.paths import REPOSITORY

SCHEMAS = {
    "Order": {
        "description": "What was ordered.",
        "properties": {
            "id": {"type": "string"},
            "state": {"$ref": "#/components/schemas/State"},
            "placedAt": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "lines": {"type": "array", "items": {"$ref": "#/components/schemas/Line"}},
            "first": {"$ref": "#/components/schemas/Line"},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "note": {"type": "string"},
            "extra": {},
        },
        "required": ["id", "state", "placedAt", "lines", "first", "labels", "extra"],
    },
    "State": {"enum": ["open", "paid"]},
    "Line": {
        "properties": {"name": {"type": "string"}, "amount": {"type": "integer"}},
        "required": ["name", "amount"],
    },
    "Page_Order_": {
        "properties": {"items": {"items": {"$ref": "#/components/schemas/Order"}}},
    },
    "OrdersQuery": {"properties": {"state": {"$ref": "#/components/schemas/State"}}},
}
PAGE = {"schema": {"$ref": "#/components/schemas/Page_Order_"}}
DOCUMENT: dict[str, Any] = {
    "paths": {"/orders": {"get": {"responses": {"200": {"content": {"application/json": PAGE}}}}}},
    "components": {"schemas": SCHEMAS},
}
INTERFACE = """
/** What was ordered. */
export interface Order {
  id: string;
  state: State;
  placedAt: string | null;
  lines: Line[];
  first: Line;
  labels: Labels;
  note?: string;
  extra: Json;
}

export type State = "open" | "paid";
"""


@pytest.mark.parametrize("path", generated_files())
def test_a_generated_file_is_as_the_service_is(path: str) -> None:
    assert (REPOSITORY / path).read_text("utf-8") == generated_files()[path], "run `make docs`"


def test_typescript_has_what_answers_use_and_no_queries() -> None:
    text = typescript(DOCUMENT)
    assert INTERFACE in text
    assert "OrdersQuery" not in text


@pytest.fixture
def orders(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The generated module, where its structs find each other."""
    module = ModuleType("orders")
    monkeypatch.setitem(sys.modules, "orders", module)
    exec(structs(DOCUMENT, ("Order",)), module.__dict__)  # noqa: S102 - the generated module
    return module


def test_a_struct_reads_answers_of_older_and_newer_services(orders: ModuleType) -> None:
    answer = {"id": "7", "state": "returned", "first": {"amount": 2}, "newField": True}
    order = msgspec.convert(answer, orders.Order)
    line = orders.Line(amount=2)
    assert order == orders.Order(id="7", state="returned", first=line)
    assert (order.placed_at, order.lines, order.note) == (None, (), None)


def test_a_struct_refuses_an_answer_without_its_identity(orders: ModuleType) -> None:
    with pytest.raises(msgspec.ValidationError, match="id"):
        msgspec.convert({"state": "open"}, orders.Order)
