"""What must be true before the bridge dials: readable keys, usable certificates, an outbox of ours.

Each function waits until its condition holds and logs why it waits. The rest of the agent works on
meanwhile: nothing but the link depends on these conditions.
"""

from __future__ import annotations

import asyncio

import structlog

from agent.bridge.connection.outbox_gap import OutboxCluster
from agent.bridge.identity.key_store import BrokenKeysError, KeyStore, LinkKeys
from agent.bridge.transport.service_http import ServiceAddress
from agent.clock import SystemClock
from agent.kube.client import KubeClient
from bus.carrier import CarrierError
from bus.jetstream import Bus
from handlers.ports import ApplyRefusedError, ClusterUnreachableError

log = structlog.get_logger()

_RETRY_SECONDS = 5.0


async def load_keys(key_store: KeyStore) -> LinkKeys:
    """Load the keys of the link, or create them; waits while their Secret cannot be used."""
    while True:
        try:
            return await key_store.load(SystemClock().now())
        except (BrokenKeysError, ApplyRefusedError, ClusterUnreachableError) as error:
            log.warning("no link: its keys cannot be read", reason=str(error))
            await asyncio.sleep(_RETRY_SECONDS)


async def wait_for_certificates(address: ServiceAddress) -> None:
    """Wait until the configured certificate files load: a volume may be mounted or mended later."""
    while True:
        try:
            address.tls()
        except OSError as error:  # an SSLError is one
            log.warning("no link: its certificates cannot be used", reason=str(error))
            await asyncio.sleep(_RETRY_SECONDS)
        else:
            return


async def bind_outbox(bus: Bus, client: KubeClient) -> None:
    """Empty the outbox if its entries are about another cluster; waits until NATS answers."""
    while True:
        try:
            cluster = OutboxCluster(outbox=bus.outbox(), bucket=await bus.bucket("link"))
            await cluster.bind(await cluster_uid(client))
        except CarrierError as error:
            log.warning("no link: its outbox does not answer", reason=str(error))
            await asyncio.sleep(_RETRY_SECONDS)
        else:
            return


async def cluster_uid(client: KubeClient) -> str:
    """Ask the cluster for its UID now; empty if it cannot be read. Raises ClusterReplacedError."""
    try:
        uid = await client.cluster_uid()
    except (ApplyRefusedError, ClusterUnreachableError) as error:
        log.info("cluster's UID not known", reason=str(error))
        return ""
    if not uid:
        log.info("cluster's UID not known", reason="the agent may not read namespace kube-system")
    return uid
