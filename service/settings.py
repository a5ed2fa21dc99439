"""The service's process settings, from the environment, checked as a whole before anything opens.

Each field is a variable with the prefix GITOPS_SERVICE_. What people decide (accounts, roles,
agents) stands in the database, not here. No setting is a credential of a cluster or a repository.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from bus.http.forwarded import Network
from service.outgoing.target import AddressPolicy
from service.retention.policy import RetentionPolicy

PREFIX = "GITOPS_SERVICE_"


def _listed(value: object) -> object:
    """`a, b` -> (`a`, `b`)."""
    if not isinstance(value, str):
        return value
    return tuple(part.strip() for part in value.split(",") if part.strip())


class InvalidServiceSettingsError(Exception):
    """`problems` is one line each: the variable and what was expected, never what was given."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        lines = "\n".join(f"  {problem}" for problem in problems)
        super().__init__(f"The service's settings cannot be used:\n{lines}")
        self.problems = problems


class ServiceSettings(BaseSettings):
    """Frozen once read; read it with `load`, or construct it in tests."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", frozen=True)

    database_url: SecretStr = Field(description="`postgresql://user@host:5432/name`.")
    owner_database_url: SecretStr | None = Field(
        default=None,
        description=(
            "Likewise, as the role that owns the tables: migrations run as it. Unset:"
            " `DATABASE_URL`, which should be of a role that owns nothing."
        ),
    )
    key_file: Path = Field(
        description=(
            "The service's keys, outside the database: they sign the audit, encrypt columns and"
            " sign agents' sessions. Make it with `gitops service new-key FILE`."
        )
    )
    key_generate: bool = Field(
        default=False, description="Make the key file at the first start where there is none."
    )
    database_connections: int = Field(
        default=16, ge=2, le=500, description="Most connections of this replica."
    )
    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(default=8090, ge=0, le=65535, description="Port; 0 takes a free one.")
    metrics_port: int = Field(
        default=8091,
        ge=0,
        le=65535,
        description="Port of `/metrics`, `/readyz` and `/healthz`: for the cluster only.",
    )
    public_description: bool = Field(
        default=False,
        description="`/api/v1/openapi.json` and `/api/v1/docs` are shown without a login.",
    )
    listeners_per_principal: int = Field(
        default=100, ge=1, le=5000, description="Event streams of one person or token at once."
    )
    public_url: str = Field(
        default="", description="How browsers and agents reach the service; empty: host and port."
    )
    account: str = Field(default="default", description="Made at the first start.")
    organisation: str = Field(default="default", description="Likewise.")
    project: str = Field(default="default", description="Likewise.")
    admin_name: str = Field(default="admin", description="The first user, made at first start.")
    admin_password_file: Path | None = Field(
        default=None, description="Password of the first user; unset: generated, printed once."
    )
    migrate: bool = Field(
        default=False, description="Bring the database's tables up to date at the start."
    )
    session_seconds: float = Field(
        default=900.0, gt=0, description="Life of an agent's session; it renews by itself."
    )
    enrolment_seconds: float = Field(
        default=3600.0, gt=0, description="Life of a one-time enrolment token."
    )
    beat_seconds: float = Field(default=15.0, gt=0, description="Between heartbeats of a link.")
    roots_seconds: float = Field(default=60.0, gt=0, description="Between looks at the hashes.")
    items_per_second: float = Field(
        default=5000.0, gt=0, description="What one agent may send; more has to wait."
    )
    retention_facts_days: int = Field(
        default=400, ge=31, description="The timeline (facts) is kept for so many days at least."
    )
    retention_drifts_days: int = Field(
        default=400, ge=31, description="Likewise the drifts that have ended."
    )
    retention_tasks_days: int = Field(
        default=90, ge=7, description="Likewise the tasks that have ended, with their results."
    )
    retention_audit_days: int = Field(
        default=1095,
        ge=90,
        description=(
            "Likewise the audit. What is removed is named by a signed checkpoint; the database"
            " itself refuses to remove records of the last 90 days."
        ),
    )
    secure_cookies: bool = Field(
        default=False,
        description=(
            "Browsers reach the service over HTTPS only (as with an https public URL): `__Host-`"
            " cookies and HSTS."
        ),
    )
    trusted_proxies: Annotated[tuple[Network, ...], NoDecode, BeforeValidator(_listed)] = Field(
        default=(),
        description=(
            "Networks, as `10.0.0.0/8,fd00::/8`, of the proxies in front: only of them"
            " `X-Forwarded-For` is believed, by the audit and by the limits of rate."
        ),
    )
    outgoing_allow: Annotated[tuple[Network, ...], NoDecode, BeforeValidator(_listed)] = Field(
        default=(),
        description=(
            "Networks inside, as `10.20.0.0/16`, that customers' webhooks may reach besides the"
            " public internet: everybody who may make a webhook can send requests there."
        ),
    )
    outgoing_http: bool = Field(
        default=False, description="Webhooks may go to `http://` addresses: for labs only."
    )
    static_folder: Path | None = Field(
        default=None, description="The built dashboard; unset: the one in the package."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least level."
    )

    @property
    def is_https(self) -> bool:
        """Whether browsers reach the service over HTTPS only."""
        return self.secure_cookies or self.public_url.lower().startswith("https://")

    @property
    def outgoing(self) -> AddressPolicy:
        """What requests to customers' addresses may reach."""
        return AddressPolicy(allowed=self.outgoing_allow, plain_http=self.outgoing_http)


def retention_policy(settings: ServiceSettings) -> RetentionPolicy:
    """How long each class of record is kept."""
    return RetentionPolicy(
        facts=timedelta(days=settings.retention_facts_days),
        drifts=timedelta(days=settings.retention_drifts_days),
        tasks=timedelta(days=settings.retention_tasks_days),
        audit=timedelta(days=settings.retention_audit_days),
    )


def owner_url(settings: ServiceSettings) -> str:
    """Whose role may change tables."""
    return (settings.owner_database_url or settings.database_url).get_secret_value()


def load() -> ServiceSettings:
    """From the environment; raises InvalidServiceSettingsError with all that is wrong."""
    try:
        return ServiceSettings()  # type: ignore[call-arg]  # the environment gives the rest
    except ValidationError as e:
        lines = tuple(
            f"{PREFIX}{'_'.join(map(str, error['loc'])).upper()}: {error['msg']}"
            for error in e.errors(include_url=False, include_input=False)
        )
        raise InvalidServiceSettingsError(lines) from e
