"""Worlds: what the rooms of compare and sync decide about, read from their ports.

The steady comparison costs the API server nothing; it is asked, by a dry-run apply, only about
single objects that look different, and its answers are remembered for as long as both sides stay
what they are.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, TypeVar

from msgspec.structs import replace

from bus.identity import ResourceKey
from bus.status import OperationPhase
from handlers.application.application import Application
from handlers.application.argo_settings import ArgoSettings
from handlers.application.denials import denial_of, no_project
from handlers.application.destination import IN_CLUSTER_SERVER
from handlers.application.options import sync_options_of_app
from handlers.compare.change import Outcome, Verdict
from handlers.compare.desired import Desired, desired_of, without_excluded
from handlers.compare.diff import changes_after_dry_run, same_after_dry_run
from handlers.compare.normalise import sent
from handlers.compare.world import Found, Question, World, compared, joined, questions
from handlers.control_plane.governance import Governance
from handlers.manifest import access
from handlers.manifest.exclusions import exclusion
from handlers.manifest.tracking import app_identity
from handlers.ports import (
    ApplyOptions,
    ApplyRefusedError,
    Apps,
    Artifacts,
    Cluster,
    ClusterUnreachableError,
    LiveObject,
    LiveState,
    Manifest,
    Renders,
)
from handlers.render.assemble import objects_of
from handlers.render.recipe import RenderRecord
from handlers.render.wanted import pinned_source

T = TypeVar("T")

_REMEMBERED = 20_000
_AT_ONCE = 8
_RECENT, _SMALL = 64, 32 * 1024
"""Artifacts kept decoded: as many as are under way at once, and none that takes much memory."""


@dataclass(slots=True, kw_only=True)
class Worlds:
    """Reads the world of an application; shared by the rooms that decide about it."""

    apps: Apps
    renders: Renders
    artifacts: Artifacts
    live: LiveState
    cluster: Cluster
    governance: Governance
    control_namespace: str
    settings: Callable[[], ArgoSettings] = ArgoSettings
    _answers: OrderedDict[Question, Outcome] = field(default_factory=OrderedDict)
    _recent: OrderedDict[bytes, Desired] = field(default_factory=OrderedDict)
    """By the artifact itself, whose bytes are the same object from room to room."""

    async def read(self, app: Application) -> World | None:
        """None where the desired state must be rendered first; ClusterUnreachableError."""
        record = self.renders.recall(app.key)
        if record is None or record.pinned_source != pinned_source(app):
            return None
        content = await self.artifacts.get(record.digest)
        if content is None:
            return None
        return await self.beside(app, record, content)

    async def beside(self, app: Application, record: RenderRecord, content: bytes) -> World:
        """The live objects beside these manifests, which need not be the last that were rendered.

        Raises ClusterUnreachableError.
        """
        found = self._found(app, record, content)
        comparison = compared(found, self._answers)
        asked = questions(comparison, found, deployed=_is_deployed(app, found))
        open_ = {key: one for key, one in asked.items() if one not in self._answers}
        if open_:
            await self._ask(open_, found)
            comparison = compared(found, self._answers)
        world = joined(comparison, found)
        holding = self.settings().holding(app, (one.key for one in world.pairs))
        return replace(world, held_by_settings=holding)

    def _found(self, app: Application, record: RenderRecord, content: bytes) -> Found:
        is_excluded = exclusion(self.settings().resources, IN_CLUSTER_SERVER)
        desired, excluded = without_excluded(self._desired(content), is_excluded)
        lives = {one.key: one for one in self.live.tracked(app.key) if not is_excluded(one.key)}
        here = ((key, self.live.get(key)) for key in desired.keys)
        lives |= {key: one for key, one in here if one is not None}
        held = self.governance.denials(app, desired.keys | lives.keys())
        lives = {key: one for key, one in lives.items() if key not in held}
        return Found(
            record=record,
            desired=desired,
            lives=lives,
            identity=app_identity(app.key, self.control_namespace),
            denied={**self._denied(app, desired.keys | lives.keys()), **held},
            excluded=excluded,
            takes_over=sync_options_of_app(app).client_side_apply_migration,
        )

    def _desired(self, content: bytes) -> Desired:
        """Rooms ask one after the other for what one render made."""
        known = self._recent.get(content)
        if known is None:
            known = desired_of(objects_of(content))
            if len(content) <= _SMALL:
                self._recent[content] = known
            if len(self._recent) > _RECENT:
                self._recent.popitem(last=False)
        return known

    def _denied(
        self, app: Application, keys: AbstractSet[ResourceKey]
    ) -> Mapping[ResourceKey, str]:
        project = self.apps.project(app.spec.project)
        if project is None:
            return dict.fromkeys(keys, no_project(app.spec.project))
        found = {key: denial_of(project, key, app.spec.destination) for key in keys}
        return {key: why for key, why in found.items() if why}

    async def _ask(self, asked: Mapping[ResourceKey, Question], found: Found) -> None:
        at_once = asyncio.Semaphore(_AT_ONCE)
        for answer in await gathered(
            self._answer(question, found.desired.wanted[key], found.lives[key], at_once)
            for key, question in asked.items()
        ):
            if isinstance(answer, ClusterUnreachableError):
                raise answer
        while len(self._answers) > _REMEMBERED:
            self._answers.popitem(last=False)

    async def _answer(
        self, question: Question, desired: Manifest, live: LiveObject, at_once: asyncio.Semaphore
    ) -> ClusterUnreachableError | None:
        """What the server refuses to try counts as different: applying it says why."""
        async with at_once:
            try:
                result = await self.cluster.apply(sent(desired), ApplyOptions(dry_run=True))
                if access.version(desired) != live.version:
                    live = await self.cluster.read(live, access.version(desired))
            except ClusterUnreachableError as error:
                return error
            except ApplyRefusedError:
                self._answers[question] = Outcome(verdict=Verdict.DIFFERENT)
                return None
        self._answers[question] = _outcome(result.manifest, live.manifest)
        return None


async def gathered(calls: Iterable[Coroutine[Any, Any, T]]) -> Sequence[T]:
    """The results of calls made at once, in order; their owner is this call."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(call) for call in calls]
    return [task.result() for task in tasks]


def _outcome(result: Manifest, live: Manifest) -> Outcome:
    if same_after_dry_run(result, live):
        return Outcome(verdict=Verdict.SAME)
    changes = changes_after_dry_run(result, live)
    return Outcome(verdict=Verdict.DIFFERENT, differences=changes)


def _is_deployed(app: Application, found: Found) -> bool:
    state = app.status.operation_state
    if state is None or state.sync_result is None or state.phase != OperationPhase.SUCCEEDED:
        return False
    return state.sync_result.revision == found.record.revision
