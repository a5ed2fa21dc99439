"""The window timer asks for the right applications at the right time, and again after a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from agent.ingress.window_timer import WindowTimer
from agent.store.applications import Applications
from agent.store.projects import Projects
from agent.subscribers import Subscribers
from bus.carrier import CarrierError
from bus.events import Event, RefreshApp
from handlers.application.global_projects import GlobalProject
from tests.support import eventually

NOON = datetime(2026, 11, 22, 12, 0, 30, tzinfo=UTC)


class NoPatching:
    async def patch_application(self, *_: object) -> bytes:
        raise AssertionError("nothing is written here")


@dataclass
class WindowClock:
    now_: datetime = NOON

    def now(self) -> datetime:
        return self.now_


@dataclass
class FlakyCarrier:
    is_away: bool = False
    asked: list[str] = field(default_factory=list)

    async def publish(self, event: Event) -> None:
        if self.is_away:
            raise CarrierError("away")
        assert isinstance(event, RefreshApp)
        self.asked.append(event.app.name)


def put_app(apps: Applications, name: str, project: str, **metadata: Any) -> None:
    body = {
        "metadata": {"name": name, "namespace": "argocd", "uid": name, **metadata},
        "spec": {
            "project": project,
            "source": {"repoURL": "https://git.example/x.git", "path": "."},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": name},
        },
    }
    apps.put_application(orjson.dumps(body))


def put_project(apps: Applications, name: str, *windows: Mapping[str, Any]) -> None:
    metadata = {"name": name, "namespace": "argocd"}
    body = {"metadata": metadata, "spec": {"syncWindows": list(windows)}}
    apps.put_project(orjson.dumps(body))


LUNCH = {"kind": "deny", "schedule": "0 13 * * *", "duration": "1h", "applications": ["web*"]}


@pytest.fixture
def apps() -> Applications:
    found = Applications(NoPatching())
    put_project(found, "shop", LUNCH)
    put_project(found, "free")
    for name, project in (("web", "shop"), ("api", "shop"), ("web-2", "free")):
        put_app(found, name, project)
    put_app(found, "web-3", "shop", deletionTimestamp="2026-11-22T00:00:00Z", finalizers=["x"])
    return found


def timer(
    apps: Applications, carrier: FlakyCarrier, clock: WindowClock | None = None
) -> WindowTimer:
    return WindowTimer(
        apps=apps,
        publish=carrier.publish,
        clock=clock or WindowClock(),
        settings_changes=Subscribers[[]](),
    )


async def test_a_window_that_is_global_for_a_project_is_its_own() -> None:
    entries = (GlobalProject(project_name="org"),)
    apps = Applications(NoPatching(), projects=Projects(lambda: entries))
    put_project(apps, "org", LUNCH)
    put_project(apps, "shop")
    put_app(apps, "web", "shop")
    carrier = FlakyCarrier()
    await timer(apps, carrier).publish_due(NOON, NOON + timedelta(hours=1))
    assert carrier.asked == ["web"]


@pytest.mark.parametrize(
    ("after", "asked"),
    [
        pytest.param(timedelta(minutes=30), [], id="nothing changed"),
        pytest.param(timedelta(hours=1), ["web"], id="it began"),
        pytest.param(timedelta(hours=5), ["web"], id="it began and ended"),
    ],
)
async def test_only_those_whose_window_changed_are_asked_for(
    apps: Applications, after: timedelta, asked: list[str]
) -> None:
    carrier = FlakyCarrier()
    assert await timer(apps, carrier).publish_due(NOON, NOON + after) == NOON + after
    assert carrier.asked == asked


async def test_what_could_not_be_published_is_due_again(apps: Applications) -> None:
    carrier = FlakyCarrier(is_away=True)
    later = NOON + timedelta(hours=1)
    assert await timer(apps, carrier).publish_due(NOON, later) == NOON
    carrier.is_away = False
    await timer(apps, carrier).publish_due(NOON, later)
    assert carrier.asked == ["web"]


def test_the_next_change_is_the_soonest_of_all_that_can_be_read(apps: Applications) -> None:
    put_project(apps, "other", LUNCH | {"schedule": "x"}, LUNCH | {"schedule": "30 12 * * *"})
    found = timer(apps, FlakyCarrier()).next_change(NOON)
    assert found == NOON.replace(minute=30, second=0)


async def test_a_window_that_is_added_while_it_sleeps_is_seen(apps: Applications) -> None:
    put_project(apps, "shop")
    carrier, clock = FlakyCarrier(), WindowClock()
    running = asyncio.ensure_future(timer(apps, carrier, clock).run())
    await asyncio.sleep(0)
    clock.now_ = NOON + timedelta(hours=3)
    put_project(apps, "shop", LUNCH)
    await eventually(lambda: carrier.asked == ["web"])
    running.cancel()
    await asyncio.wait([running])
