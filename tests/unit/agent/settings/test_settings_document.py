"""docs/settings.md says what the types say."""

from __future__ import annotations

from agent.settings_document import document
from tests.paths import REPOSITORY

PAGE = REPOSITORY / "docs" / "settings.md"


def test_the_page_is_as_the_types_are() -> None:
    assert PAGE.read_text("utf-8") == document(), "run `make docs`"
