"""The wiring of the service: its classes are built here, from what the service has opened.

Each function hands a class what its constructor asks for, so no other module but the lifecycle
knows `ServiceDependencies`. Handlers of the API take parts by typed keys, which are set here too.
Starting and stopping is the business of `service.lifecycle`.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any

from aiohttp import web

from bus.http.body import prepare_bodies
from bus.http.budget import Budget, HttpLimits
from bus.http.forwarded import forwarded
from bus.http.freed_memory import return_freed_memory
from bus.http.refusals import prepare_refusals
from service import dashboard
from service.api import routes as api
from service.api.access.password_check import PASSWORDS
from service.api.access.session import DEFAULT_ACCOUNT
from service.api.agents.changes import ENROLMENT_SECONDS
from service.api.agents.recovery import FOLLOWERS
from service.api.applications.logs import TASK_STREAMS
from service.api.applications.shells import MOST_SHELLS, SHELLS, SHELLS_OF_ONE
from service.api.events.events import LISTENER_HUB
from service.api.events.webhooks import OUTGOING_POLICY
from service.audit.denials import recording
from service.auth.passwords import Passwords
from service.auth.rate_limits import RateLimits
from service.dependencies import ServiceDependencies
from service.gateway import routes as gateway
from service.gateway.effect_runner import EffectRunner
from service.gateway.enrolment import Enrolment
from service.gateway.link_state import SessionTerms
from service.gateway.open_shells import sweeping_shells
from service.gateway.refusals import RateLimiter
from service.gateway.routes import Gateway
from service.gateway.sessions import AgentSessions
from service.gateway.task_ends import TaskSpans, sweeping
from service.gateway.task_streams import TaskStreams
from service.http.call import CLOCK, ENGINE, KEYS, PUBLIC_URL, TASKS
from service.http.error_problems import problems
from service.http.login_check import LOGIN_CHECK, LoginCheck
from service.http.process import ScrapedGauges, metrics_routes
from service.http.serve import EndpointServer
from service.http.stream_access import STREAM_ACCESS, StreamAccess
from service.live.change_feed import ChangeFeed, trimming
from service.live.webhook_dispatcher import WebhookDispatcher
from service.observe.requests import counted, traced
from service.projection.writer import ProjectionWriter
from service.retention.job import RetentionJob
from service.settings import retention_policy
from service.store.link_signals import LinkRegistry

BODY_LIMIT = 1 << 20
RATE = 100.0
"""Requests a second of one actor, over time."""
BURST = 400.0


def public_application(dependencies: ServiceDependencies) -> web.Application:
    """Build the application of the gateway, the API and the dashboard.

    The dashboard comes last: it answers every path that is left.
    """
    settings = dependencies.settings
    app = web.Application(
        client_max_size=BODY_LIMIT,
        middlewares=(
            forwarded(settings.trusted_proxies),
            counted(dependencies.metrics),
            traced(dependencies.spans),
            problems,
        ),
    )
    prepare_bodies(app, HttpLimits())
    prepare_refusals(app)
    app.on_shutdown.append(_leaving(dependencies.link_registry))
    if settings.is_https:
        app.on_response_prepare.append(_https_only)
    app.router.add_routes(gateway.routes(gateway_of(dependencies)))
    server = provide_api(app, dependencies)
    app.router.add_routes(api.routes(server, public_description=settings.public_description))
    app.router.add_routes(dashboard.routes(settings.static_folder))
    return app


def metrics_application(dependencies: ServiceDependencies) -> web.Application:
    """Build the application of health and metrics, for a port that only the cluster reaches."""
    app = web.Application()
    gauges = ScrapedGauges(
        metrics=dependencies.metrics,
        engine=dependencies.engine,
        link_registry=dependencies.link_registry,
        hub=dependencies.hub,
    )
    app.router.add_routes(metrics_routes(gauges))
    return app


def provide_api(app: web.Application, dependencies: ServiceDependencies) -> EndpointServer:
    """Set the parts that handlers of the API take, and build the server of their endpoints."""
    engine, signals, settings = dependencies.engine, dependencies.signals, dependencies.settings
    login_check = LoginCheck(
        buckets=RateLimits(rate=RATE, burst=BURST, monotonic=time.monotonic),
        public_url=settings.public_url,
        secure=settings.is_https,
    )
    app[ENGINE] = engine
    app[CLOCK] = dependencies.clock
    app[KEYS] = dependencies.keys
    app[TASKS] = dependencies.tasks
    app[PUBLIC_URL] = settings.public_url
    app[DEFAULT_ACCOUNT] = settings.account
    app[ENROLMENT_SECONDS] = settings.enrolment_seconds
    app[OUTGOING_POLICY] = settings.outgoing
    app[FOLLOWERS] = dependencies.followers
    app[LISTENER_HUB] = dependencies.hub
    app[PASSWORDS] = Passwords()
    app[LOGIN_CHECK] = login_check
    app[SHELLS] = Budget(total=MOST_SHELLS, share=SHELLS_OF_ONE)
    app[TASK_STREAMS] = TaskStreams(engine=engine, signals=signals)
    app[STREAM_ACCESS] = StreamAccess(
        engine=engine, signals=signals, clock=dependencies.clock, login_check=login_check
    )
    return EndpointServer(
        engine=engine,
        clock=dependencies.clock,
        denials=dependencies.denials,
        login_check=login_check,
    )


def gateway_of(dependencies: ServiceDependencies) -> Gateway:
    """Build the gateway that agents connect to."""
    settings, engine, clock = dependencies.settings, dependencies.engine, dependencies.clock
    return Gateway(
        enrolment=Enrolment(engine=engine, keys=dependencies.keys, clock=clock),
        sessions=AgentSessions(
            engine=engine,
            keys=dependencies.keys,
            clock=clock,
            denials=dependencies.denials,
            lifetime=settings.session_seconds,
            account=settings.account,
        ),
        effect_runner=effect_runner(dependencies),
        link_registry=dependencies.link_registry,
        terms=SessionTerms(
            beat_seconds=settings.beat_seconds,
            roots_seconds=settings.roots_seconds,
            items_per_second=settings.items_per_second,
        ),
        rate_limiter=RateLimiter(),
    )


def effect_runner(dependencies: ServiceDependencies) -> EffectRunner:
    """Build the runner of link effects, with the writer of the projection."""
    engine, clock = dependencies.engine, dependencies.clock
    writer = ProjectionWriter(
        engine=engine,
        clock=clock,
        followers=dependencies.followers,
        metrics=dependencies.metrics,
        ended=TaskSpans(engine=engine, spans=dependencies.spans).record,
    )
    return EffectRunner(
        engine=engine,
        writer=writer,
        streams=TaskStreams(engine=engine, signals=dependencies.signals),
        keys=dependencies.keys,
        clock=clock,
        replica=dependencies.replica,
    )


def retention_job(dependencies: ServiceDependencies) -> RetentionJob:
    """Build the job that makes and drops monthly partitions."""
    return RetentionJob(
        engine=dependencies.engine,
        keys=dependencies.keys,
        policy=retention_policy(dependencies.settings),
        metrics=dependencies.metrics,
        clock=dependencies.clock,
    )


def change_feed(dependencies: ServiceDependencies) -> ChangeFeed:
    """Build the reader that hands the change feed to this process's listeners."""
    return ChangeFeed(
        engine=dependencies.engine,
        signals=dependencies.signals,
        hub=dependencies.hub,
        clock=dependencies.clock,
        metrics=dependencies.metrics,
    )


def webhook_dispatcher(dependencies: ServiceDependencies) -> WebhookDispatcher:
    """Build the sender of webhook deliveries."""
    return WebhookDispatcher(
        engine=dependencies.engine,
        signals=dependencies.signals,
        clock=dependencies.clock,
        policy=dependencies.settings.outgoing,
        keys=dependencies.keys,
        spans=dependencies.spans,
    )


def workers(dependencies: ServiceDependencies) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
    """Yield the tasks that run as long as the service, each with its name."""
    engine, clock = dependencies.engine, dependencies.clock
    spans = TaskSpans(engine=engine, spans=dependencies.spans)
    yield "denials", recording(engine, dependencies.denials, clock)
    yield "sweep of tasks and epochs", sweeping(spans, clock)
    yield "sweep of shells", sweeping_shells(dependencies.tasks, clock)
    yield "change feed", change_feed(dependencies).run()
    yield "webhooks", webhook_dispatcher(dependencies).run()
    yield "change feed trimming", trimming(engine, clock)
    yield "retention", retention_job(dependencies).run()
    yield "freed memory", return_freed_memory()


def _leaving(link_registry: LinkRegistry) -> Callable[[web.Application], Awaitable[None]]:
    async def leave(_: web.Application) -> None:
        link_registry.leave()

    return leave


async def _https_only(_request: web.Request, response: web.StreamResponse) -> None:
    """Ask browsers for HTTPS for a year (RFC 6797), whatever somebody types."""
    response.headers["Strict-Transport-Security"] = "max-age=31536000"
