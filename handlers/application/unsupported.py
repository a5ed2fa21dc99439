"""Unsupported: a field, option or annotation that this version does not act on. Pure.

Such a field is reported, never silently ignored, with its consequence in words. Where ignoring the
field could do harm (something would be overwritten, or done at a forbidden time, or left out that
must come first), the value is `harmful`: automated syncs are held until a person removes the field
or syncs by hand. Sync options stand in three places (the policy of an Application, an annotation of
one object, a command) and are found here for all three; other fields are found in
`unsupported_fields` (Applications, AppProjects, manifests) and `argo_settings` (Argo CD's
ConfigMaps). A field that not even a person may pass over is refused by `validate` instead. The
tests hold the lines of `docs/compatibility.md` against this code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from bus.status import ConditionType
from handlers.application.application import Application
from handlers.application.policy import auto_sync
from handlers.application.status import Condition
from handlers.manifest.options import parse_sync_options


class Unsupported(msgspec.Struct, frozen=True, kw_only=True):
    """One field or option that is not acted on, with the consequence."""

    field: str
    consequence: str
    harmful: bool = False
    """Whether automated syncs are held until a person acts."""
    until: str = "it is removed"
    """What ends the hold."""

    @property
    def message(self) -> str:
        message = f"{self.field} is not acted on by this version: {self.consequence}"
        held = f"automated sync is held until {self.until}; sync by hand where that is acceptable"
        return f"{message}; {held}" if self.harmful else message


def conditions_of(app: Application, found: Iterable[Unsupported]) -> tuple[Condition, ...]:
    """Make conditions, without a time; nothing is held where only people start syncs."""
    automated = auto_sync(app.spec) is not None
    return tuple(
        Condition(
            type=(
                ConditionType.AUTO_SYNC_HELD_WARNING
                if automated and one.harmful
                else ConditionType.UNSUPPORTED_FIELD_WARNING
            ),
            message=one.message,
        )
        for one in found
    )


def unsupported_options(written: Iterable[str]) -> Iterator[Unsupported]:
    """Find the options of `written` that are not known; all others are acted on."""
    options = parse_sync_options(written)
    for word in options.unknown:
        yield Unsupported(field=word, consequence="it is not known")


def options_of_policy(app: Application) -> Iterator[Unsupported]:
    written = app.spec.sync_policy.sync_options if app.spec.sync_policy else ()
    for one in unsupported_options(written):
        yield Unsupported(
            field=f"sync option {one.field}",
            consequence=one.consequence,
        )
