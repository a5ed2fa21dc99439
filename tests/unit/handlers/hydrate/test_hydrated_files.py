"""Files, message and note of a hydrated commit."""

from __future__ import annotations

import json

import pytest

from bus.identity import Revision
from handlers.hydrate.commit_references import references
from handlers.hydrate.hydrated_files import (
    DryCommit,
    commit_message,
    folder_metadata,
    note,
    readme,
    root_metadata,
)
from handlers.ports.branches import CommitDetails

SHA = Revision("4f1c2a9" + "0" * 33)
TRAILERS = """Bump web

Argocd-reference-commit-author: Jane Doe <jane@example.com>
Argocd-reference-commit-sha: 5c8f21d
Argocd-reference-commit-repourl: https://kim:token@git.example/team/app
Argocd-reference-commit-body: "two\\nlines"
"""


def dry(message: str = "Add web\n\nIt greets.\n", **details: str) -> DryCommit:
    known = {"author_name": "Jane Doe", "author_email": "jane@example.com", **details}
    found = CommitDetails(message=message, time="2026-01-01T12:00:00+01:00", **known)
    return DryCommit(repository="https://git.example/dry", id=SHA, details=found)


def test_the_message_names_the_dry_commit_and_its_author() -> None:
    assert commit_message(dry()) == (
        "4f1c2a9: Add web\n\nIt greets.\n\nCo-authored-by: Jane Doe <jane@example.com>\n"
    )


def test_metadata_tells_of_the_dry_commit_and_leaves_out_what_is_empty() -> None:
    assert json.loads(root_metadata(dry())) == {
        "repoURL": "https://git.example/dry",
        "drySha": SHA,
        "author": "Jane Doe <jane@example.com>",
        "date": "2026-01-01T12:00:00+01:00",
        "subject": "Add web",
        "body": "It greets.",
    }
    assert set(json.loads(root_metadata(dry("", author_name="", author_email="")))) == {
        "repoURL",
        "drySha",
        "date",
    }
    assert json.loads(folder_metadata(dry())) == {
        "drySha": SHA,
        "repoURL": "https://git.example/dry",
    }
    assert note(dry()) == b'{"drySha":"%s"}' % SHA.encode()


def test_an_author_cannot_write_a_second_line() -> None:
    message = commit_message(dry(author_name="x\nSigned-off-by: root", author_email="<a>"))
    assert message.splitlines()[-1] == "Co-authored-by: xSigned-off-by: root <a>"


def test_the_readme_holds_nothing_of_the_dry_commit_s_text() -> None:
    text = readme(dry("<script>"), "apps/web").decode()
    assert "git checkout " + SHA in text
    assert "`apps/web`" in text
    assert "script" not in text


def test_trailers_name_the_commit_that_led_to_this_one() -> None:
    assert references(TRAILERS) == [
        {
            "author": "Jane Doe <jane@example.com>",
            "sha": "5c8f21d",
            "repoURL": "https://git.example/team/app",
            "body": "two\nlines",
        }
    ]
    assert json.loads(root_metadata(dry(TRAILERS)))["references"][0]["commit"]["sha"] == "5c8f21d"


@pytest.mark.parametrize(
    "message",
    [
        "Bump web",
        "Argocd-reference-commit-sha: 5c8f21d\n\nand more text",
        "x\n\nArgocd-reference-commit-sha: $(reboot)",
        "x\n\nArgocd-reference-commit-body: no JSON\nArgocd-reference-commit-repourl: ext::sh",
    ],
    ids=["none", "not in the last paragraph", "no commit", "neither JSON nor URL"],
)
def test_what_is_no_reference_is_left_out(message: str) -> None:
    assert references(message) == []
