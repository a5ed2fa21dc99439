"""The summaries of the API: each endpoint says a verb and its noun, as readers of lists need it."""

from __future__ import annotations

import re

import pytest

from service.api.routes import table
from service.http.endpoint import Endpoint

VERBS = re.compile(
    r"(List|Get|Create|Change|Replace|Delete|Begin|End|Sync|Refresh|Terminate|Roll|Preview|Stream"
    r"|Cancel|Rebuild|Accept|Approve|Reject|Revoke|Retry|Export|Verify|Run) "
)
NOUNS = {
    "/login": "session",
    "/logout": "session",
    "/me": "caller",
    "/me/password": "password",
    "/openapi.json": "document",
    "/docs": "documentation",
    "/timeline/at": "fleet",
    "/keys": "GnuPG key",
    "/keys/{id}": "GnuPG key",
}
"""Nouns of endpoints whose path does not spell them."""
ENDPOINTS = table()


def problem(path: str, summary: str) -> str:
    """Tell what a summary lacks; empty where it lacks nothing."""
    if VERBS.match(summary) is None:
        return "it begins with no verb of the list"
    if not summary.endswith((".", ".)")):
        return "it is no sentence"
    if not any(noun in summary.lower() for noun in nouns(path)):
        return f"it names none of {', '.join(sorted(nouns(path)))}"
    return ""


def nouns(path: str) -> set[str]:
    """Find the words of a path without their plural, or what stands for them."""
    if path in NOUNS:
        return {NOUNS[path].lower()}
    words = [it for it in path.split("/") if it and not it.startswith("{")]
    return {re.sub(r"(ies|y|s)$", "", it).replace("-", " ") for it in words}


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda it: f"{it.method} {it.path}")
def test_a_summary_names_verb_and_noun(endpoint: Endpoint) -> None:
    assert not problem(endpoint.path, endpoint.summary), endpoint.summary


def test_no_two_endpoints_of_one_method_share_a_summary() -> None:
    summaries = [(it.method, it.summary) for it in ENDPOINTS]
    assert len(summaries) == len(set(summaries))


@pytest.mark.parametrize(
    "summary", ["One role.", "All of the account.", "Make one.", "Delete it.", "Get one"]
)
def test_a_summary_without_verb_or_noun_is_found(summary: str) -> None:
    assert problem("/roles/{id}", summary)
