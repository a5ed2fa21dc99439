"""ApplicationSets are not acted on, and the agent says so of each."""

from __future__ import annotations

import msgspec
from structlog.testing import capture_logs

from agent.store.feeds import REMEDY, ApplicationSets


def raw(name: str) -> bytes:
    return msgspec.json.encode({"metadata": {"name": name, "namespace": "argocd"}})


def test_each_set_is_told_once_with_what_to_do() -> None:
    feed = ApplicationSets().feed()
    with capture_logs() as logs:
        for _ in range(2):
            feed.begin_list()
            feed.put(raw("shops"))
            feed.end_list("1")
        feed.put(raw("shops"))
    (log,) = logs
    assert (log["set"], log["do"], log["log_level"]) == ("argocd/shops", REMEDY, "warning")


def test_a_set_that_was_gone_and_is_back_is_told_again() -> None:
    feed = ApplicationSets().feed()
    with capture_logs() as logs:
        feed.put(raw("shops"))
        feed.begin_list()
        feed.end_list("2")
        feed.put(raw("shops"))
        feed.remove(raw("shops"))
        feed.put(raw("shops"))
    assert len(logs) == 3
