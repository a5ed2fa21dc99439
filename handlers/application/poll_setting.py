"""How often repositories are looked at, by `timeout.reconciliation` of `argocd-cm`. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from handlers.application.times import seconds

KEY = "timeout.reconciliation"
SHORTEST = 10.0
"""Seconds. Who asks for less gets this: a push needs no poll."""


def read_poll_interval(data: Mapping[str, str]) -> tuple[float | None, str]:
    """Read the seconds between two looks, and why they cannot be read.

    0 switches polling off, as in Argo CD; None leaves it to the agent's own settings.
    """
    text = data.get(KEY, "").strip()
    if not text:
        return None, ""
    try:
        interval = seconds(text)
    except ValueError as error:
        return None, str(error)
    if interval < 0:
        return None, "it is below zero"
    return (max(interval, SHORTEST) if interval else 0.0), ""
