"""Logs: one JSON object a line, with no secret in it."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from agent.observe.logs import MASK, configure, masked, redact


@pytest.fixture
def out() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    before, level = root.handlers, root.level
    stream = io.StringIO()
    configure("info", "auto", stream)
    yield stream
    structlog.reset_defaults()
    root.handlers = before
    root.setLevel(level)


def line(out: io.StringIO) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def test_a_stream_that_is_no_terminal_gets_json(out: io.StringIO) -> None:
    structlog.get_logger().info("fetched", repository="https://git.example/a", seconds=1.5)

    logged = line(out)
    assert (logged["event"], logged["level"], logged["seconds"]) == ("fetched", "info", 1.5)
    assert logged["timestamp"].endswith("Z")


def test_less_than_the_level_is_dropped(out: io.StringIO) -> None:
    structlog.get_logger().debug("detail")

    assert out.getvalue() == ""


def test_an_exception_is_one_line_without_its_secrets(out: io.StringIO) -> None:
    error = ValueError("https://me:hush@git.example/a is gone")
    structlog.get_logger().error("failed", exc_info=error)

    assert "git.example" in line(out)["exception"]
    assert "hush" not in out.getvalue()


def test_what_libraries_say_takes_the_same_way(out: io.StringIO) -> None:
    logging.getLogger("nats").warning("lost nats://me:%s@host", "hush")

    assert line(out)["logger"] == "nats"
    assert "hush" not in out.getvalue()


def test_a_terminal_gets_text(out: io.StringIO) -> None:
    configure("info", "console", out)
    structlog.get_logger().info("fetched")

    assert not out.getvalue().startswith("{")
    assert "fetched" in out.getvalue()


@pytest.mark.parametrize(
    "fields",
    [
        {"password": "hush"},
        {"Authorization": "Bearer hush"},
        {"bearerToken": "hush"},
        {"private_key": b"hush"},
        {"url": "https://me:hush@git.example/a"},
        {"header": "Authorization: Bearer hush"},
        {"message": "login with password=hush failed"},
        {"message": "GET /x?access_token=hush"},
        {"nested": {"deep": [{"apiKey": "hush"}]}},
        {"urls": ("redis://:hush@redis",)},
        {"error": ValueError("amqp://me:hush@host")},
        {"client_secret": "hush"},
    ],
)
def test_secrets_are_masked(fields: dict[str, Any]) -> None:
    assert "hush" not in str(redact(None, "info", fields))


@pytest.mark.parametrize(
    "text",
    [
        "BASIC hush",
        "a Bearer\thush",
        "PassWd=hush",
        "x-SeCret: hush",
        "API_KEY : hush",
        "refreshToKen=hush",
        pytest.param("pa\u017f\u017fword=hush", id="long s"),
        pytest.param("to\u212aen=hush", id="Kelvin"),
    ],
)
def test_words_that_tell_a_secret_are_found_in_every_case(text: str) -> None:
    assert "hush" not in masked(text)


def test_the_name_of_a_secret_object_stays() -> None:
    fields = {"secret": "argocd/repo-shop", "message": "credentials of Secret argocd/repo-shop"}

    assert redact(None, "info", fields) == fields


def test_what_is_nested_without_end_is_masked() -> None:
    endless: list[Any] = []
    endless.append(endless)

    assert MASK in str(redact(None, "info", {"value": endless}))


@given(st.text())
def test_redaction_says_nothing_new_the_second_time(text: str) -> None:
    once = masked(text)

    assert masked(once) == once
