"""Connections: what one agent talks to - the API server, NATS by two logins, Redis if there is one.

The secrets that the agent made for itself are read from the cluster, so its client comes first.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from agent.agent_secrets import AgentKeys, AgentSecrets
from agent.buses import AgentBuses, open_buses, scope_of
from agent.kube.client import KubeClient, kube_client
from agent.kube.connection_config import connect
from agent.observe.metrics import AgentMetrics
from agent.settings import Settings
from agent.store.redis_artifacts import RedisArtifacts
from bus.signature import CommandKey
from bus.spans import Sampler


@dataclass(frozen=True, slots=True, kw_only=True)
class Connections:
    """What the agent talks to, and the secrets that it made for that."""

    client: KubeClient
    keys: AgentKeys
    buses: AgentBuses
    redis: RedisArtifacts | None


async def open_connections(
    settings: Settings, metrics: AgentMetrics, sampler: Sampler, stack: AsyncExitStack
) -> Connections:
    """Open them on the stack; raises their errors, e.g. KubeConfigError, CarrierError."""
    client = await stack.enter_async_context(_client(settings, metrics))
    own = AgentSecrets(client=client, namespace=settings.namespace)
    keys = await own.agent_keys()
    return Connections(
        client=client,
        keys=keys,
        buses=await stack.enter_async_context(_buses(settings, own, keys, sampler)),
        redis=await _shared(settings, own, stack),
    )


@asynccontextmanager
async def _buses(
    settings: Settings, own: AgentSecrets, keys: AgentKeys, sampler: Sampler
) -> AsyncIterator[AgentBuses]:
    named, scope = settings.nats.logins_secret, scope_of(settings)
    seeds = await own.nats_logins(named, scope) if named else None
    async with open_buses(settings, CommandKey(keys.commands), seeds, sampler) as buses:
        yield buses


@asynccontextmanager
async def _client(settings: Settings, metrics: AgentMetrics) -> AsyncIterator[KubeClient]:
    connection = await connect(settings.kube.kubeconfig, settings.kube.context)
    ceiling, observe = settings.kube.ceiling, metrics.count_request
    async with kube_client(connection, ceiling=ceiling, observe=observe) as client:
        yield client


async def _shared(
    settings: Settings, own: AgentSecrets, stack: AsyncExitStack
) -> RedisArtifacts | None:
    if settings.redis.url is None:
        return None
    named = settings.redis.password_secret
    password = await own.redis_password(named) if named else ""
    redis = RedisArtifacts.at(settings.redis.url.get_secret_value(), password)
    stack.push_async_callback(redis.aclose)
    return redis
