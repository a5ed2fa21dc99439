"""Answers of an API server are bounded in depth before anything decodes them."""

from __future__ import annotations

import orjson
import pytest

from agent.kube.list_watch import read_event
from agent.kube.nesting import CUT, MOST_LEVELS, bounded, is_nested_too_deeply, was_cut
from agent.kube.summary import summarise
from agent.store.applications import Applications
from bus.identity import AppKey
from bus.status import HealthStatus


def nested(levels: int, inner: bytes = b"1") -> bytes:
    return b'{"a":' * levels + inner + b"}" * levels


def widget(levels: int) -> bytes:
    """An object of `levels` levels, of which its own braces are one."""
    head = b'{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"deep","uid":"u1"},'
    return head + b'"spec":' + nested(levels - 1) + b"}"


@pytest.mark.parametrize(
    "raw",
    [
        b"{}",
        nested(MOST_LEVELS),
        b"[" + b",".join([nested(3)] * 500) + b"]",
        orjson.dumps({"text": "{[" * 500}),
        orjson.dumps({"text": '\\"{' * 500, "more": [{"x": '"}'}] * 300}),
    ],
    ids=["empty", "deepest", "wide", "brackets in a text", "quoted brackets in texts"],
)
def test_what_is_shallow_enough_stays_the_same_bytes(raw: bytes) -> None:
    assert bounded(raw) is raw
    assert not is_nested_too_deeply(raw)


@pytest.mark.parametrize("levels", [MOST_LEVELS + 1, 1_000, 1_100, 20_000])
def test_deeper_values_are_cut_and_all_others_stay(levels: int) -> None:
    raw = b'{"before":["{"],"deep":' + nested(levels) + b',"after":{"b":[1,2]}}'

    cut = orjson.loads(bounded(raw))

    assert cut["before"] == ["{"]
    assert cut["after"] == {"b": [1, 2]}
    value, depth = cut["deep"], 1
    while isinstance(value, dict):
        value, depth = value["a"], depth + 1
    assert (value, depth) == (CUT, MOST_LEVELS)


def test_levels_around_an_object_do_not_count() -> None:
    assert bounded(nested(MOST_LEVELS + 2), around=2) == nested(MOST_LEVELS + 2)


@pytest.mark.parametrize("levels", [300, 990, 5_000])
def test_an_event_with_a_deep_object_is_read_and_its_health_is_unknown(levels: int) -> None:
    event = read_event(b'{"type":"ADDED","object":' + widget(levels) + b"}")

    live = summarise(event.raw, whole=True)

    assert (live.key.name, live.uid) == ("deep", "u1")
    assert (live.health, live.health_message) == (HealthStatus.UNKNOWN, CUT)


def test_an_object_at_the_limit_is_read_as_a_whole() -> None:
    live = summarise(widget(MOST_LEVELS), whole=True)

    assert live.health is None
    assert not was_cut(live.body)


@pytest.mark.parametrize("levels", [300, 990, 5_000])
def test_a_deep_application_has_a_problem_and_delays_no_other(
    apps: Applications, levels: int
) -> None:
    apps.put_application(bounded(application("deep", nested(levels))))
    apps.put_application(application("flat", nested(3)))

    assert CUT in apps.problem(AppKey("argocd", "deep"))
    assert apps.problem(AppKey("argocd", "flat")) == ""


def application(name: str, values: bytes) -> bytes:
    metadata = {"name": name, "namespace": "argocd", "uid": name, "resourceVersion": "1"}
    source = {"repoURL": "https://git.example/apps.git", "helm": {"valuesObject": "VALUES"}}
    spec = {"project": "default", "source": source, "destination": {"namespace": "shop"}}
    raw = orjson.dumps({"metadata": metadata, "spec": spec, "status": {}})
    return raw.replace(b'"VALUES"', values)


@pytest.fixture
def apps() -> Applications:
    return Applications(Unpatched())


class Unpatched:
    async def patch_application(self, key: AppKey, patch: object) -> bytes:
        raise AssertionError(f"{key} is patched: {patch}")
