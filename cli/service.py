"""`gitops service`: run the control plane, or bring its database up to date."""

from __future__ import annotations

import sys

import structlog
import uvloop

from agent.configuration import EXIT_CODE
from agent.observe.logs import configure
from agent.shutdown import stopping
from service.keys.key_file import KeyFileError
from service.keys.root_key import SealedValueError
from service.lifecycle import Service, open_service
from service.settings import InvalidServiceSettingsError, ServiceSettings, load, owner_url
from service.store.migrate import migrate as migrate_database

log = structlog.get_logger()


def run_service() -> int:
    """Serve until told to stop; the first start prints the first user's password, once."""
    settings = load_settings()
    if settings is None:
        return EXIT_CODE
    try:
        return uvloop.run(_run(settings))
    except (KeyFileError, SealedValueError) as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_CODE


def migrate() -> int:
    """Bring the tables up to date; safe beside running replicas, which wait for each other."""
    settings = load_settings()
    if settings is None:
        return EXIT_CODE
    migrate_database(owner_url(settings))
    log.info("database is up to date")
    return 0


def load_settings() -> ServiceSettings | None:
    """Load the settings; None where they are unusable, after printing why."""
    try:
        settings = load()
    except InvalidServiceSettingsError as error:
        sys.stderr.write(f"{error}\n")
        return None
    configure(settings.log_level)
    return settings


async def _run(settings: ServiceSettings) -> int:
    async with stopping() as stop, open_service(settings) as service:
        _greet(service)
        await stop.wait()
    log.info("stopped")
    return 0


def _greet(service: Service) -> None:
    sys.stdout.write(f"GitOps service: {service.url}\n")
    if service.generated_password:
        name = service.settings.admin_name
        sys.stdout.write(f"first user {name}, password {service.generated_password} (shown once)\n")
    sys.stdout.flush()
