"""The answer of a health script is read by Argo CD's contract. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from handlers.health.states import Health, status_named, unknown


class ScriptAnswerError(Exception):
    """A script returned something that is no health; the message says what was expected."""


def script_health(answer: bytes) -> Health | None:
    """Read what a script returned; nothing or an empty status means no health.

    A status that Argo CD does not have becomes Unknown. Raises ScriptAnswerError.
    """
    document: Any = msgspec.json.decode(answer)
    if document is not None and not isinstance(document, dict | list):
        raise ScriptAnswerError(
            f"the script returned {answer.decode()}; "
            "expected a table with status and message, or nil"
        )
    table: dict[str, Any] = document if isinstance(document, dict) else {}
    status = table.get("status")
    if not status:
        return None
    named = status_named(status) if isinstance(status, str) else None
    if named is None:
        return unknown("Lua returned an invalid health status")
    return Health(named, str(table.get("message") or ""))
