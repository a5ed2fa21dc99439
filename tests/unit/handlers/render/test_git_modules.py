"""`.gitmodules` is read without Git: paths and URLs, and nothing that it could do."""

from __future__ import annotations

import pytest

from bus.repository_url import RepositoryUrl
from handlers.render.git_modules import absolute_url, module_urls

PARENT = RepositoryUrl.parse("https://git.example/team/app.git")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('[submodule "a"]\n\tpath = lib/a\n\turl = ../a.git\n', {"lib/a": "../a.git"}),
        ('[submodule "a"] path = a\nurl = "https://h/a#b" # why\n', {"a": "https://h/a#b"}),
        ('[Submodule "a"]\nPATH = "a b/"\nUrl=x ; why\n', {"a b": "x"}),
        ('[submodule "a\\"b"]\npath=a\nurl=y\n[submodule "a\\"b"]\nurl=z\n', {"a": "z"}),
        ('[submodule "a"]\npath = a\n', {}),
        ('[submodule "a"]\nurl = x\n', {}),
        ('[submodule "a"]\npath = ../a\nurl = x\n', {}),
        ('[submodule "a"]\npath = /a\nurl = x\n', {}),
        ("[include]\npath = /etc/passwd\nurl = x\n[core]\nsshCommand = touch x\n", {}),
        ('[submodule "a"]\npath = a\nurl = x\nupdate = !touch x\n', {"a": "x"}),
        ("\x00\ufffd[[[", {}),
    ],
)
def test_paths_and_urls_are_read_and_nothing_else(content: str, expected: dict[str, str]) -> None:
    assert module_urls(content) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("../lib.git", "https://git.example/team/lib.git"),
        ("../../other/lib", "https://git.example/other/lib"),
        ("./lib", "https://git.example/team/app.git/lib"),
        ("./../lib", "https://git.example/team/lib"),
        ("git@git.example:team/lib.git", "git@git.example:team/lib.git"),
        ("file:///etc", "file:///etc"),
    ],
)
def test_a_relative_url_begins_at_that_of_the_parent(url: str, expected: str) -> None:
    assert absolute_url(url, PARENT) == expected


def test_a_relative_url_leads_to_no_other_host() -> None:
    with pytest.raises(ValueError, match="leads above the root"):
        absolute_url("../../../evil.example/x", PARENT)
    over_ssh = RepositoryUrl.parse("git@git.example:team/app.git")
    assert absolute_url("../lib.git", over_ssh) == "ssh://git@git.example/team/lib.git"
