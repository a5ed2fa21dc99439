"""Keys in the cluster: made once, enrolled once, replaced with overlap, enrolled anew."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from agent.bridge.identity.enroller import Enroller
from agent.bridge.identity.key_store import SECRET, BrokenKeysError, KeyStore
from agent.bridge.transport.link import LinkRefusedError
from agent.bridge.transport.service_http import (
    ServiceAddress,
    ServiceHttpClient,
    open_service_http,
)
from agent.clock import SystemClock
from agent.kube.client import KubeClient, kube_client
from agent.kube.connection_config import connect
from agent.settings import Settings
from agent.settings.process_settings import LinkSettings
from bus.link.sealing import sealing_fingerprint
from cli.local.cluster_probe import link
from playground.kubernetes import ControlPlane
from tests.unit.agent.bridge.fake_service import FakeService, some_cluster


@dataclass
class Door:
    fake_service: FakeService
    http: ServiceHttpClient
    client: KubeClient
    namespace: str
    token: Path

    def enroller(self, lifetime: timedelta = timedelta(days=1)) -> Enroller:
        """As a process that has just begun."""
        return Enroller(
            http=self.http,
            key_store=KeyStore(client=self.client, namespace=self.namespace),
            clock=SystemClock(),
            token_file=self.token,
            cluster_uid=some_cluster,
            version="1",
            key_lifetime=lifetime,
        )


@pytest.fixture
async def door(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> AsyncIterator[Door]:
    connection = await connect(control_plane.kubeconfig)
    async with (
        FakeService().open() as fake_service,
        open_service_http(ServiceAddress(url=fake_service.url)) as http,
        kube_client(connection) as client,
    ):
        token = tmp_path / "token"
        token.write_text(fake_service.token)
        yield Door(fake_service, http, client, namespace, token)


async def test_a_second_start_needs_no_token(door: Door) -> None:
    first = await door.enroller().enrolled_keys()
    door.token.unlink()
    assert await door.enroller().enrolled_keys() == first
    assert door.fake_service.enrolments == 1


async def test_the_sealing_key_is_named_where_people_can_compare_it(door: Door) -> None:
    link_settings = LinkSettings(url=door.fake_service.url)
    settings = Settings(namespace=door.namespace, link=link_settings)
    (unmade,) = await link(door.client, settings)
    with capture_logs() as logged:
        keys = await door.enroller().enrolled_keys()
    (named,) = await link(door.client, settings)
    (line,) = (one for one in logged if "fingerprint" in one)
    assert unmade.found == "made when the agent starts"
    assert line["fingerprint"] == named.found == sealing_fingerprint(keys.sealing_key)
    assert await link(door.client, Settings(namespace=door.namespace)) == []


async def test_a_key_is_replaced_and_the_new_one_is_used_and_kept(door: Door) -> None:
    before = await door.enroller().enrolled_keys()
    await door.enroller(lifetime=timedelta(0)).session()
    after = await door.enroller().enrolled_keys()
    assert after.public_key != before.public_key
    assert (after.key_id, after.next_seed, after.sealing_seed) == ("key-2", "", before.sealing_seed)
    await door.enroller().session()


async def test_where_the_answer_to_a_replacement_is_lost_the_old_key_still_opens(
    door: Door,
) -> None:
    await door.enroller().enrolled_keys()
    cut_off = door.enroller(lifetime=timedelta(0))
    await cut_off._with_successor(await cut_off.enrolled_keys())
    await door.enroller().session()
    assert (await door.enroller().enrolled_keys()).next_seed == ""


async def test_a_refused_agent_enrols_again_with_a_new_token_only(door: Door) -> None:
    await door.enroller().enrolled_keys()
    door.fake_service.keys.clear()
    with pytest.raises(LinkRefusedError, match="unknown key"):
        await door.enroller().session()
    door.token.write_text(door.fake_service.token)
    await door.enroller().session()
    assert door.fake_service.enrolments == 2


async def test_without_a_token_it_says_what_to_do(door: Door) -> None:
    door.token.unlink()
    with pytest.raises(LinkRefusedError, match="GITOPS_LINK_TOKEN_FILE"):
        await door.enroller().enrolled_keys()


async def test_a_secret_that_is_not_ours_is_left_alone(door: Door) -> None:
    path = f"/api/v1/namespaces/{door.namespace}/secrets"
    await door.client.create(path, b'{"metadata": {"name": "%s"}}' % SECRET.encode())
    with pytest.raises(BrokenKeysError, match="delete it"):
        await door.enroller().enrolled_keys()
