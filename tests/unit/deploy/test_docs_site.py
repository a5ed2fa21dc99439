"""What is done to the pages before the documentation site is built of them."""

from pathlib import Path

import pytest
import yaml

from deploy.docs_site import OmittedPageError, navigation, with_outward_links
from tests.paths import REPOSITORY

HOST = "https://host.example/it"


@pytest.mark.parametrize(
    ("source", "text", "becomes"),
    [
        ("docs/a.md", "[x](../agent/run.py)", f"[x]({HOST}/blob/main/agent/run.py)"),
        ("docs/extend/a.md", "[x](../../bus/a.py#L3)", f"[x]({HOST}/blob/main/bus/a.py#L3)"),
        ("docs/extend/a.md", "[x](../b.md#y)", "[x](../b.md#y)"),
        ("docs/a.md", "[x](b.md) ../c", "[x](b.md) ../c"),
    ],
)
def test_a_link_that_leaves_the_docs_leads_to_the_repository(
    source: str, text: str, becomes: str
) -> None:
    assert with_outward_links(text, source, HOST) == becomes


def test_a_folder_stands_for_its_pages_with_its_own_first(tmp_path: Path) -> None:
    (tmp_path / "adr").mkdir()
    for name in ("index.md", "adr/0002.md", "adr/0001.md", "adr/README.md"):
        (tmp_path / name).touch()
    found = navigation(["index.md", {"Decisions": "adr/"}], tmp_path)
    assert found == [
        "index.md",
        {"Decisions": ["adr/README.md", "adr/0001.md", "adr/0002.md"]},
    ]


def test_a_page_that_nobody_can_find_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lost.md").touch()
    with pytest.raises(OmittedPageError, match=r"lost\.md"):
        navigation([], tmp_path)


def test_the_navigation_has_every_page() -> None:
    config = yaml.safe_load((REPOSITORY / "mkdocs.yml").read_text())
    assert navigation(config["nav"], REPOSITORY / "docs")
