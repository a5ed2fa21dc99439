"""docs/service-settings.md says what the types say."""

from __future__ import annotations

from pathlib import Path

from service.settings_document import document

PAGE = Path(__file__).parent.parent.parent / "docs" / "service-settings.md"


def test_the_page_is_as_the_types_are() -> None:
    assert PAGE.read_text("utf-8") == document(), "run `make docs`"
