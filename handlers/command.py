"""The handlers of SyncApp, TerminateOperation and RefreshNow: the commands of people and service.

A command is written into the Application, as `kubectl` or `argocd` would write it, and an ask for
the next step follows. From there on it makes no difference who gave it. A repeated command finds
its own id in the Application and changes nothing. A sync option that is not acted on is a warning
in an Application and refused in a command: to do something else than what was asked for now would
be worse than nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from bus.events import (
    Event,
    RefreshApp,
    RefreshNow,
    RefreshRepository,
    StepOperation,
    SyncApp,
    TerminateOperation,
)
from bus.metadata_keys import COMMANDS
from bus.route import Reject, Retry
from bus.status import OperationPhase
from handlers.application.application import Application
from handlers.application.history import deployed_entry
from handlers.application.unsupported import unsupported_options
from handlers.control_plane.governance import FROM_CONTROL_PLANE, OVERRIDE_WINDOW
from handlers.ports import Apps, ClusterUnreachableError, StaleWriteError, StatusWrite
from handlers.sync.operation_info import COMMAND_ID, info_of
from handlers.sync.operation_transitions import under_way

_OF_DELETION = "Delete="


def option_problems(written: Iterable[str]) -> tuple[str, ...]:
    """A sentence for each option that cannot be honoured; none where all can."""
    return tuple(_problems(tuple(word.strip() for word in written)))


def _problems(words: tuple[str, ...]) -> Iterator[str]:
    for word in words:
        if word.startswith(_OF_DELETION):
            yield (
                f"sync option {word!r} is about deleting the application, not about one sync; "
                "write it into spec.syncPolicy.syncOptions"
            )
            continue
        for one in unsupported_options((word,)):
            yield f"sync option {word!r} is refused: this version cannot do it ({one.consequence})"


_AWAY = 5.0
_BUSY = 1.0
_COMMANDS_KEPT = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncCommandHandler:
    apps: Apps

    async def __call__(self, command: SyncApp) -> Sequence[Event]:
        app = _known(self.apps, command)
        if is_known(app, command.id):
            return (StepOperation(app=app.key),)
        if under_way(app) is not None:
            raise Retry("another operation is under way", after=_BUSY)
        if not _is_in_history(app, command):
            raise Reject(f"{app.key} has no history entry {command.history_id}")
        try:
            await self.apps.set_operation(app, operation_of(app, command))
        except StaleWriteError as error:
            raise Retry("another operation is requested already", after=_BUSY) from error
        except ClusterUnreachableError as error:
            raise Retry(str(error), after=_AWAY) from error
        return (StepOperation(app=app.key),)


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminateCommandHandler:
    """Marks the operation under way as Terminating; a requested one is removed."""

    apps: Apps

    async def __call__(self, command: TerminateOperation) -> Sequence[Event]:
        app = _known(self.apps, command)
        state = under_way(app)
        if state is None and app.operation is None:
            return ()
        status = app.status
        if state is not None:
            state = replace(state, phase=OperationPhase.TERMINATING)
            status = replace(status, operation_state=state)
        try:
            await self.apps.write(app, StatusWrite(status=status, clear_operation=state is None))
        except ClusterUnreachableError as error:
            raise Retry(str(error), after=_AWAY) from error
        return (StepOperation(app=app.key),)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshCommandHandler:
    apps: Apps

    async def __call__(self, command: RefreshNow) -> Sequence[Event]:
        app = _known(self.apps, command)
        fetch = (RefreshRepository(repository=one) for one in app.repositories)
        return (*fetch, RefreshApp(app=app.key, hard=command.hard))


def operation_of(app: Application, command: SyncApp) -> Mapping[str, Any]:
    """Make the field `.operation` as Argo CD's API writes it."""
    policy = app.spec.sync_policy
    sync: dict[str, Any] = {
        "prune": command.prune,
        "dryRun": command.dry_run,
        "syncOptions": list(command.options or (policy.sync_options if policy else ())),
        "resources": [
            {"group": one.group, "kind": one.kind, "namespace": one.namespace, "name": one.name}
            for one in command.resources
        ],
    }
    sync |= {"revision": command.revision, "revisions": list(command.revisions)}
    entry = deployed_entry(app.status.history, command.history_id)
    if entry is not None:
        sync |= {"revision": entry.revision, "revisions": list(entry.revisions)}
        sync["source"] = msgspec.to_builtins(entry.source) if entry.source else None
        sync["sources"] = msgspec.to_builtins(entry.sources)
        # As Argo CD's rollback: without hooks, which may belong to another revision.
        sync["syncStrategy"] = {"apply": {}}
    info = [{"name": COMMAND_ID, "value": command.id}]
    if command.from_control_plane:
        info.append({"name": FROM_CONTROL_PLANE, "value": "true"})
    if command.override_window:
        info.append({"name": OVERRIDE_WINDOW, "value": command.override_window})
    return {
        "sync": {name: value for name, value in sync.items() if value},
        "initiatedBy": {"username": command.actor},
        "info": info,
    }


def _known(apps: Apps, command: SyncApp | TerminateOperation | RefreshNow) -> Application:
    app = apps.get(command.app)
    if app is None:
        raise Reject(f"there is no application {command.app}")
    return app


def _is_in_history(app: Application, command: SyncApp) -> bool:
    """Whether the history still has the entry that the command deploys again."""
    entry = command.history_id
    return entry is None or deployed_entry(app.status.history, entry) is not None


def is_known(app: Application, command_id: str) -> bool:
    """Whether the command was written before, also if a later operation replaced its own."""
    state = app.status.operation_state
    operations = (app.operation, state.operation if state else None)
    if any(one is not None and info_of(one, COMMAND_ID) == command_id for one in operations):
        return True
    return command_id in commands_of(app)


def commands_of(app: Application) -> tuple[str, ...]:
    """Ids of the last commands, oldest first; written together with the operation itself."""
    # An agent of the version before may have acted in between: both names count, the former first.
    values = reversed(COMMANDS.values(app.metadata.annotations))
    return tuple(dict.fromkeys(id_ for value in values for id_ in value.split()))


def with_command(app: Application, command_id: str) -> str:
    """The value of the commands annotation with one more id."""
    return " ".join((*commands_of(app), command_id)[-_COMMANDS_KEPT:])
