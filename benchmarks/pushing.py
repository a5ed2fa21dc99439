"""One push to one application: a commit, its signed webhook, and when the cluster showed it.

The moments are the benchmark's own: when the Git host had the commit, when the webhook was
answered, when an independent watch showed the Deployment with the new image, and the Application
Synced at the new commit.
"""

from __future__ import annotations

import asyncio
import time
import uuid

import msgspec

from benchmarks.agent_setup import AgentSetup
from benchmarks.cluster import BenchmarkWatch, Seen
from benchmarks.workload import changed
from playground.githost import HostedRepository
from playground.pushes import PushPayload, headers, payload

_WITHIN = 60.0


class NotAcceptedError(RuntimeError):
    """The agent did not take the webhook."""


class Pushed(msgspec.Struct, frozen=True, kw_only=True):
    """One sample; moments of `time.monotonic()`, but `clock` is `time.time()` at the push."""

    revision: str
    clock: float
    pushed: float
    accepted: float
    changed: float
    synced: float


class Eyes(msgspec.Struct, frozen=True, kw_only=True):
    """Watches that were open before the push."""

    deployments: BenchmarkWatch
    applications: BenchmarkWatch


async def push(
    setup: AgentSetup,
    eyes: Eyes,
    name: str,
    tag: str,
    repository: HostedRepository | None = None,
) -> Pushed:
    """Change the image of one application, which is in the common repository if in no other."""
    repository = repository or setup.repository
    before = repository.head()
    revision = repository.commit(changed(name, tag), message=f"{name} {tag}")
    pushed, clock = time.monotonic(), time.time()
    async with asyncio.timeout(_WITHIN), asyncio.TaskGroup() as tasks:
        change = tasks.create_task(_image(eyes.deployments, name, tag), name="image")
        sync = tasks.create_task(_synced(eyes.applications, name, revision), name="synced")
        await deliver(setup, before, revision, repository)
        accepted = time.monotonic()
    return Pushed(
        revision=revision,
        clock=clock,
        pushed=pushed,
        accepted=accepted,
        changed=change.result().seen_at,
        synced=sync.result().seen_at,
    )


async def deliver(
    setup: AgentSetup, before: str, after: str, repository: HostedRepository | None = None
) -> None:
    repository = repository or setup.repository
    delivery = PushPayload(
        repository=repository.name,
        clone_url=repository.url,
        reference=f"refs/heads/{repository.branch}",
        before=before,
        after=after,
    )
    body = payload(delivery, repository.branch)
    signed = headers(body, setup.ground.webhook_secret, str(uuid.uuid4()))
    url = f"{setup.url}/api/webhook"
    async with setup.session.post(url, data=body, headers=signed) as answer:
        if answer.status >= 300:
            raise NotAcceptedError(f"{answer.status}: {await answer.text()}")


async def _image(watch: BenchmarkWatch, name: str, tag: str) -> Seen:
    async for seen in watch:
        if seen.object.name == name and seen.object.image.endswith(f":{tag}"):
            return seen
    raise AssertionError("a watch has no end")


async def _synced(watch: BenchmarkWatch, name: str, revision: str) -> Seen:
    async for seen in watch:
        sync = seen.object.status.sync
        if seen.object.name == name and (sync.status, sync.revision) == ("Synced", revision):
            return seen
    raise AssertionError("a watch has no end")
