"""The settings of the source hydrator in Argo CD's ConfigMaps: the switch, and the author. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from handlers.application.argo_parameters import HYDRATOR_ENABLED, Row, is_true

_NAME, _EMAIL = "commit.author.name", "commit.author.email"
_LONGEST = 200
TEMPLATE_ROWS = tuple(
    Row(key=key, consequence=f"it is a template of Go; {text} has its standard form")
    for key, text in (
        ("sourceHydrator.commitMessageTemplate", "the message of a hydrated commit"),
        ("sourceHydrator.readmeMessageTemplate", "the README.md of hydrated manifests"),
    )
)


class HydratorSettings(msgspec.Struct, frozen=True, kw_only=True):
    enabled: bool = False
    author_name: str = "Argo CD"
    author_email: str = "argo-cd@example.com"
    """The defaults of Argo CD, by which pipelines recognise the commits."""
    unreadable: tuple[tuple[str, str], ...] = ()
    """Keys that cannot be used, each with the reason."""


def read_hydrator(
    data: Mapping[str, str], parameters: Mapping[str, str] | None = None
) -> HydratorSettings:
    """Read `argocd-cm` and `argocd-cmd-params-cm`."""
    default = HydratorSettings()
    written = {key: data.get(key, "").strip() for key in (_NAME, _EMAIL)}
    broken = tuple((key, why) for key, text in written.items() if (why := _problem(text)))
    for key, _ in broken:
        written[key] = ""
    return HydratorSettings(
        enabled=is_true((parameters or {}).get(HYDRATOR_ENABLED, "")),
        author_name=written[_NAME] or default.author_name,
        author_email=written[_EMAIL] or default.author_email,
        unreadable=broken,
    )


def _problem(text: str) -> str:
    """Why Git takes no such author."""
    if len(text) > _LONGEST:
        return f"it is longer than {_LONGEST} characters"
    if any(one in "<>" or not one.isprintable() for one in text):
        return "an author has no angle brackets and no line breaks"
    return ""
