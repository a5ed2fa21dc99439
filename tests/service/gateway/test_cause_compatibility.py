"""The cause of an application's ill health between an agent and a service of other versions."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from bus.link import LinkItem, StateBody
from bus.link.digest import content_hash
from bus.status import Cause, HealthStatus
from handlers.application.application import read_application
from handlers.report.items import ItemStamp, ReportedApplication, application_item
from handlers.report.known_secrets import KnownSecrets
from handlers.report.redaction import Redaction
from service.store.tables import applications
from tests.service.fake_agent import FakeOutbox, application, connect, resync
from tests.service.service_fixture import RunningService

CAUSE = Cause(
    object="/Pod/shop/web-1", health=HealthStatus.DEGRADED, reason="ImagePullBackOff", message="m"
)


class OldStateBody(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a service of link protocol 1 reads of a state: it knows no cause."""

    kind: str
    namespace: str
    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}


def reported(cause: Cause | None) -> LinkItem:
    """As an agent of this version tells it."""
    app = {
        "metadata": {"name": "web", "namespace": "argocd"},
        "spec": {"project": "default", "source": {"repoURL": "https://git/x", "path": "web"}},
        "status": {"health": {"status": "Degraded"}},
    }
    found = ReportedApplication(app=read_application(msgspec.json.encode(app)), cause=cause)
    stamp = ItemStamp(id="1", time="2026-01-01T00:00:00Z")
    return application_item(found, stamp, Redaction(salt=b"x", known=KnownSecrets(b"y")))


async def test_an_agent_that_knows_no_cause_is_read_and_shows_none(
    running_service: RunningService,
) -> None:
    identity, outbox = await running_service.enrolled(), FakeOutbox()
    item = outbox.state(application("web", health="Degraded"))
    assert "cause" not in json.loads(bytes(item.body))
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch, protocol=(1, 1))
        await link.put([item])
        await resync(link, outbox)
    (row,) = await running_service.rows(applications)
    assert (row.health, row.cause) == ("Degraded", None)


async def test_an_agent_that_is_set_back_to_a_version_without_causes_leaves_no_old_one(
    running_service: RunningService,
) -> None:
    identity, outbox = await running_service.enrolled(), FakeOutbox()
    body = application("web", health="Degraded")
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.put([outbox.state(msgspec.structs.replace(body, cause=CAUSE))])
        (row,) = await running_service.rows(applications)
        assert row.cause["reason"] == "ImagePullBackOff"
        await link.put([outbox.state(body)])
    (row,) = await running_service.rows(applications)
    assert row.cause is None


def test_a_service_that_knows_no_cause_reads_the_rest() -> None:
    item = reported(CAUSE)
    assert "cause" in json.loads(bytes(item.body))
    old = msgspec.json.decode(item.body, type=OldStateBody)
    new = msgspec.json.decode(item.body, type=StateBody)
    assert old.status["health"]["status"] == "Degraded"
    assert (old.kind, old.name, old.spec) == (new.kind, new.name, new.spec)


def test_the_hash_counts_the_cause_so_that_both_versions_find_the_same_difference() -> None:
    """A service keeps the hash that it was told: what it does not know changes the hash as well."""
    without, caused = reported(None), reported(CAUSE)
    assert caused.hash == content_hash(json.loads(bytes(caused.body)))
    assert without.hash == content_hash(json.loads(bytes(without.body)))
    assert caused.hash != without.hash
