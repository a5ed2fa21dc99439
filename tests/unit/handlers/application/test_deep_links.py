from __future__ import annotations

import pytest

from handlers.application.deep_links import (
    DeepLink,
    EvaluatedLink,
    read_deep_links,
    shown_links,
    url_problem,
)

WRITTEN = """
- url: https://splunk.example?app={{ .app.metadata.name }}
  title: Splunk
  description: Its logs
  icon.class: fa-file
  if: application.spec.project == "shop"
- {url: https://x, title: X}
"""


def test_links_are_read_with_their_conditions() -> None:
    found = read_deep_links({"application.links": WRITTEN})
    first, second = found.application
    assert (first.title, first.description, first.icon_class) == ("Splunk", "Its logs", "fa-file")
    assert first.condition == 'application.spec.project == "shop"'
    assert second == DeepLink(url="https://x", title="X")
    assert (found.project, found.resource, found.unreadable) == ((), (), ())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("- {url: https://x}", "title"),
        ("- {url: https://x, title: X, condition: a}", "condition"),
        ("url: https://x", "Expected `array`"),
        ("[", "while parsing"),
        ("- {url: https://x, title: X}\n" * 51, "50 links at most"),
        ("- {title: X, url: https://" + "x" * 5000 + "}", "more than 4096"),
    ],
)
def test_a_key_that_cannot_be_read_has_no_links_and_says_why(text: str, why: str) -> None:
    found = read_deep_links({"resource.links": text, "project.links": WRITTEN})
    assert found.resource == ()
    assert len(found.project) == 2
    ((key, problem),) = found.unreadable
    assert key == "resource.links"
    assert why in problem


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "https://argocd.example@evil.example/",
        "JavaScript:alert(1)//https://x",
        "data:text/html,x",
        "//evil.example",
        "/relative",
        "https://",
        "https://x y",
        "https://x\\y",
        "https://x/\u202e",
        "https://x/" + "a" * 2048,
        "http://[",
        "ftp://x",
    ],
)
def test_what_is_no_web_address_is_no_link(url: str) -> None:
    assert url_problem(url)
    links, problems = shown_links([DeepLink(url="t", title="T")], [EvaluatedLink(url=url)])
    assert links == ()
    assert problems[0].startswith("link 'T': ")


def test_links_whose_condition_does_not_hold_are_left_out_without_a_word() -> None:
    written = [DeepLink(url="t", title=title) for title in ("A", "B", "C")]
    answers = [
        EvaluatedLink(),
        EvaluatedLink(url="HTTPS://x/?q=1"),
        EvaluatedLink(problem="if: no"),
    ]
    links, problems = shown_links(written, answers)
    assert [(one.title, one.url) for one in links] == [("B", "HTTPS://x/?q=1")]
    assert problems == ("link 'C': if: no",)
