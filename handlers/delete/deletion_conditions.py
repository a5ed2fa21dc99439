"""DeletionConditions: the conditions that say why a deletion does not go on."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from bus.status import ConditionType
from handlers.application import times
from handlers.application.application import Application
from handlers.application.status import ApplicationStatus, Condition, of_type, revised, without
from handlers.ports import Apps, Clock, StatusWrite

_TYPE = ConditionType.DELETION_ERROR


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionConditions:
    apps: Apps
    clock: Clock

    async def write(self, app: Application, message: str, type_: ConditionType = _TYPE) -> None:
        """Write the condition, or remove it where there is no message."""
        now = times.written(self.clock.now())
        found = (Condition(type=type_, message=message),) if message else ()
        conditions = revised(app.status.conditions, (type_,), found, now)
        await self.apps.write(app, StatusWrite(status=replace(app.status, conditions=conditions)))

    async def clear(self, app: Application) -> None:
        await self.apps.write(app, StatusWrite(status=without_errors(app)))

    async def clear_begun_with(self, app: Application, words: str) -> None:
        """Remove the error that begins with these words, if it stands."""
        errors = of_type(app.status.conditions, _TYPE)
        if any(one.message.startswith(words) for one in errors):
            await self.clear(app)

    def age(self, app: Application, message: str) -> float | None:
        """Seconds since the condition with this message stands; None where it does not."""
        for one in of_type(app.status.conditions, _TYPE):
            if one.message == message:
                return times.since(one.last_transition_time, self.clock.now())
        return None


def without_errors(app: Application) -> ApplicationStatus:
    return replace(app.status, conditions=without(app.status.conditions, (_TYPE,)))
