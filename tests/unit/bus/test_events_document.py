import re

import msgspec
import pytest

from bus.events import Event
from bus.events.document import document
from bus.events.event import event_types, wire_type
from bus.events.examples import example_of
from tests.paths import REPOSITORY

ROOT = REPOSITORY
FILE = ROOT / "docs" / "events.md"


def test_the_document_is_what_the_types_say() -> None:
    expected = document()
    assert FILE.read_text() == expected, "run: python -m bus.events.document > docs/events.md"


@pytest.mark.parametrize("event", event_types(), ids=wire_type)
def test_every_example_in_the_document_decodes(event: type[Event]) -> None:
    example = example_of(event)
    assert msgspec.json.decode(msgspec.json.encode(example), type=event) == example
    assert f"`{wire_type(event)}`" in FILE.read_text()


def test_the_readme_names_types_that_exist() -> None:
    named = set(re.findall(r"[a-z.]+\.v\d+\b", (ROOT / "README.md").read_text()))
    assert named
    assert named <= set(map(wire_type, event_types()))
