"""HealthOverrides judges live objects by the health scripts of `argocd-cm`, off the watches' path.

An index asks for the *provisional* health of each object that it takes: an object whose kind has a
script keeps the health that it had, or is Progressing where its content is new, and waits. `run`
asks the sandbox about one waiting object after the other and gives the answer to the index, which
takes it only for the same version of the object. So a newer version always has the last word, and
no watch waits for a script.

A script that fails makes its objects Unknown. Where it needed too much time or memory for several
objects of a namespace in a row, it is not run there for some minutes: the others would cost as
much (`script_strikes`). Namespaces take turns by what they cost (`script_queue`).
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

import orjson
import structlog
from msgspec.structs import replace

from agent.kube.nesting import CUT
from agent.kube.script_queue import JudgedIndex, ScriptQueue, Tenant, WaitingObject
from agent.kube.script_strikes import MOST, SECONDS, ScriptStrikes
from agent.subscribers import Subscribers
from bus.identity import ResourceKey
from bus.status import HealthStatus
from handlers.application.health_scripts import HealthScript, HealthScripts
from handlers.health.script_answer import ScriptAnswerError, script_health
from handlers.health.states import Health, progressing, unknown
from handlers.manifest.symptom import symptom_of
from handlers.ports import LiveObject
from sandbox.client.errors import SandboxBusyError, SandboxError
from sandbox.client.overruns import OF_RESOURCES
from sandbox.client.pool import Sandbox

_log = structlog.get_logger(__name__)

_UNANSWERED = progressing("the health script has not answered yet")
_CROWDED_OUT = unknown(
    "the health script was not run: more objects of this namespace wait for scripts than the agent "
    "keeps; it is run when these have been judged, or the object changes"
)
_AGAIN_SECONDS = 60.0
"""Between two times at which what was turned away is asked for: each costs a list of its kind."""
_TURN = 0.001
"""Seconds that each object counts at least."""
_LONGEST = 1024
_WELL = (None, HealthStatus.HEALTHY, HealthStatus.SUSPENDED)


class HealthOverrides:
    """The scripts that hold now, and the objects that wait for one. One for all indexes."""

    def __init__(
        self, queue: ScriptQueue | None = None, again_seconds: float = _AGAIN_SECONDS
    ) -> None:
        self.scripts = HealthScripts()
        self.relists = Subscribers[[JudgedIndex, frozenset[ResourceKey]]]()
        """Called with objects that were turned away, when they may be listed again."""
        self._again_seconds = again_seconds
        self._again_at = 0.0
        self._turned_away: dict[JudgedIndex, set[ResourceKey]] = {}
        self.changes = Subscribers[[HealthScripts, HealthScripts]]()
        """Called with the scripts before and after."""
        self._queue = ScriptQueue() if queue is None else queue
        self._arrived = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._strikes = ScriptStrikes(time.monotonic)
        self._logged: set[HealthScript] = set()

    def use(self, scripts: HealthScripts) -> None:
        """Judge by these scripts from now on; the objects concerned have to be listed again."""
        before, self.scripts = self.scripts, scripts
        if before == scripts:
            return
        self._strikes.clear()
        self._logged.clear()
        self.changes.notify(before, scripts)

    def provisional(
        self, index: JudgedIndex, before: LiveObject | None, live: LiveObject, raw: bytes
    ) -> LiveObject:
        """Return the object with the health that counts until its script has answered."""
        script = self.scripts.of(live.key.group, live.key.kind)
        if script is None or not raw or _is_exempt(live):
            self.gone(index, live.key)
            return live
        self._turned_away.get(index, set()).discard(live.key)
        for crowded in self._queue.add(index, live, raw):
            here = self._turned_away.setdefault(crowded.tenant.index, set())
            here.add(crowded.live.key)
            if crowded.live is live:
                self._arrived.set()
                return _crowded_out(live)
            crowded.tenant.index.judged(_crowded_out(crowded.live))
        self._arrived.set()
        self._idle.clear()
        if before is not None and _is_same_content(before, live):
            return _with_health(live, before.health, before.health_message)
        return _with_health(live, _UNANSWERED.status, _UNANSWERED.message)

    def gone(self, index: JudgedIndex, key: ResourceKey) -> None:
        """Forget an object that is no longer in the index, or has no script."""
        self._queue.drop(index, key)
        self._turned_away.get(index, set()).discard(key)

    def forget(self, index: JudgedIndex) -> None:
        """Forget all objects of an index that is of no use any more."""
        self._queue.drop_index(index)
        self._turned_away.pop(index, None)

    async def drained(self, seconds: float) -> None:
        """Wait until no object waits, at most so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._idle.wait()

    async def run(self, sandbox: Sandbox) -> None:
        """Judge what waits until cancelled; namespaces take turns by what their objects cost."""
        while True:
            await self._until_work()
            while self._queue:
                waiting = self._queue.next()
                began = time.monotonic()
                await self._judge(waiting, sandbox)
                self._queue.spend(waiting.tenant, _TURN + time.monotonic() - began)
            self._arrived.clear()
            self._idle.set()
            self._ask_again()

    async def _until_work(self) -> None:
        """Wait for an object, or until what was turned away may come again."""
        waits = any(self._turned_away.values())
        pause = max(0.0, self._again_at - time.monotonic()) if waits else None
        with suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await self._arrived.wait()

    def _ask_again(self) -> None:
        """Have those listed again that found no room, now that there is some."""
        now = time.monotonic()
        if now < self._again_at or not any(self._turned_away.values()):
            return
        self._again_at = now + self._again_seconds
        turned_away, self._turned_away = self._turned_away, {}
        for index, keys in turned_away.items():
            if keys:
                self.relists.notify(index, frozenset(keys))

    async def _judge(self, waiting: WaitingObject, sandbox: Sandbox) -> None:
        live, key, index = waiting.live, waiting.live.key, waiting.tenant.index
        script = self.scripts.of(key.group, key.kind)
        if script is None or not index.roots_of(live):
            index.judged(live)
            return
        manifest = _manifest(live, live.body or waiting.raw)
        health = await self._ask(script, waiting.tenant, manifest, sandbox)
        if self.scripts.of(key.group, key.kind) == script:
            status, message = (health.status, health.message) if health else (None, "")
            symptom = None if status in _WELL else symptom_of(manifest)
            index.judged(replace(_with_health(live, status, message), symptom=symptom))

    async def _ask(
        self, script: HealthScript, tenant: Tenant, manifest: dict[str, object], sandbox: Sandbox
    ) -> Health | None:
        if self._strikes.are_out(tenant, script):
            return unknown(_struck(script, tenant))
        try:
            answer = await _evaluated(script, manifest, sandbox)
            self._strikes.forgive(tenant, script)
            return script_health(answer)
        except SandboxError as error:
            if error.reason in OF_RESOURCES:
                self._strikes.add(tenant, script)
            self._report(script, error.reason)
            return unknown(f"{script.source} failed: {error.message.strip()}"[:_LONGEST])
        except ScriptAnswerError as error:
            self._report(script, "the answer is no table")
            return unknown(f"{script.source}: {error}"[:_LONGEST])

    def _report(self, script: HealthScript, reason: str) -> None:
        """Log a failing script once; its message may quote the object, and stays out of the log."""
        if script not in self._logged:
            self._logged.add(script)
            _log.warning("health script of argocd-cm failed", key=script.source, reason=reason)


async def _evaluated(script: HealthScript, manifest: dict[str, object], sandbox: Sandbox) -> bytes:
    body, queue = orjson.dumps(manifest), f"health of {script.source}"
    while True:
        try:
            return await sandbox.evaluate("lua", script.params, body, project=queue)
        except SandboxBusyError as error:
            await asyncio.sleep(error.after)


def _struck(script: HealthScript, tenant: Tenant) -> str:
    where = f"in namespace {tenant.namespace}" if tenant.namespace else "without a namespace"
    return (
        f"{script.source} is not run for objects {where} for {SECONDS / 60:.0f} minutes: it needed "
        f"too much time or memory for {MOST} of them in a row; correct the script or these objects"
    )


def _is_exempt(live: LiveObject) -> bool:
    """What is being deleted, cut, or of nobody is judged by our own rules."""
    return live.deleting or live.health_message == CUT or not (live.tracking or live.owners)


def _is_same_content(before: LiveObject, live: LiveObject) -> bool:
    return (before.uid, before.fingerprint) == (live.uid, live.fingerprint)


def _crowded_out(live: LiveObject) -> LiveObject:
    return _with_health(live, _CROWDED_OUT.status, _CROWDED_OUT.message)


def _with_health(live: LiveObject, status: HealthStatus | None, message: str) -> LiveObject:
    return replace(live, health=status, health_message=message[:_LONGEST])


def _manifest(live: LiveObject, raw: bytes) -> dict[str, object]:
    """The object for the script: items of a list lack their kind; managedFields are left out."""
    document: dict[str, object] = orjson.loads(raw)
    group, kind = live.key.group, live.key.kind
    api_version = f"{group}/{live.version}" if group else live.version
    metadata = document.get("metadata")
    if isinstance(metadata, dict):
        metadata.pop("managedFields", None)
    return {"apiVersion": api_version, "kind": kind, **document}
