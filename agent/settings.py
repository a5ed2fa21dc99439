"""Process settings: what is given from outside, checked as a whole before anything is opened.

Each field is an environment variable (`GITOPS_NATS_URL` is `nats.url`); the same names stand in the
TOML file that GITOPS_SETTINGS_FILE points to (`[nats]`, `url = ...`). The environment wins.
Settings of the product itself live in the cluster, in Argo CD's ConfigMaps and Secrets, not here.
docs/settings.md is made from these types.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ByteSize,
    ConfigDict,
    Field,
    PositiveInt,
    SecretStr,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from agent.durations import seconds_of
from agent.sandbox.confinement import Capability
from bus.http.forwarded import Network

PREFIX = "GITOPS_"
FILE_VARIABLE = "GITOPS_SETTINGS_FILE"
_MIB = 1024 * 1024
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


def _items(given: object) -> object:
    """`a, b` -> the items; what is a list already (from the file) stays one."""
    if isinstance(given, str):
        return tuple(item for part in given.split(",") if (item := part.strip()))
    return given


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError("expected 1 to 63 lower-case letters, digits and inner hyphens")
    return text


def _home(path: Path) -> Path:
    return path.expanduser()


Name = Annotated[str, AfterValidator(_name)]
Namespaces = Annotated[tuple[Name, ...], NoDecode, BeforeValidator(_items)]
RightsProfile = Literal["", "namespaced", "cluster", "kinds", "read-only"]
Kinds = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_items)]
Seconds = Annotated[float, BeforeValidator(seconds_of), Field(gt=0)]
StreamSize = Annotated[ByteSize, Field(ge=_MIB)]
PathHere = Annotated[Path, AfterValidator(_home)]


class _Group(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class KubeSettings(_Group):
    kubeconfig: PathHere | None = Field(
        default=None, description="Kubeconfig file; unset: in-cluster."
    )
    context: str = Field(
        default="", description="Context of the kubeconfig; empty: its current one."
    )
    ceiling: PositiveInt = Field(
        default=64, description="Most requests open at the API server at once."
    )


class NatsSettings(_Group):
    """Where events travel; without a URL the agent starts a server of its own, in `state_dir`."""

    url: SecretStr | None = Field(
        default=None,
        description="`nats://host:4222`, several with commas; unset: a child nats-server.",
    )
    credentials_file: PathHere | None = Field(
        default=None, description="A `.creds` file (JWT and seed)."
    )
    nkey_file: PathHere | None = Field(default=None, description="A file with an nkey seed.")
    bridge_nkey_file: PathHere | None = Field(
        default=None,
        description="The bridge's own nkey seed, beside `nkey_file`; unset: it shares that login.",
    )
    logins_secret: str = Field(
        default="",
        description="Secret with the logins of the NATS beside the agent, made where missing.",
    )
    token_file: PathHere | None = Field(default=None, description="A file with a token.")
    user: str = Field(default="", description="User name, with `password_file`.")
    password_file: PathHere | None = Field(
        default=None, description="A file with the user's password."
    )
    tls_ca: PathHere | None = Field(default=None, description="Authorities to trust (PEM).")
    tls_cert: PathHere | None = Field(default=None, description="Client certificate (PEM).")
    tls_key: PathHere | None = Field(
        default=None, description="Key of the client certificate (PEM)."
    )

    @model_validator(mode="after")
    def _pairs(self) -> NatsSettings:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError(
                "expected GITOPS_NATS_TLS_CERT and GITOPS_NATS_TLS_KEY: both or neither"
            )
        if bool(self.user) != (self.password_file is not None):
            raise ValueError(
                "expected GITOPS_NATS_USER and GITOPS_NATS_PASSWORD_FILE: both or neither"
            )
        if self.bridge_nkey_file is not None and self.nkey_file is None:
            raise ValueError("expected GITOPS_NATS_NKEY_FILE with GITOPS_NATS_BRIDGE_NKEY_FILE")
        if self.logins_secret and self._is_logged_in_otherwise:
            raise ValueError(
                "expected GITOPS_NATS_LOGINS_SECRET or another login (credentials, nkey, token, "
                "user): not both"
            )
        return self

    @property
    def _is_logged_in_otherwise(self) -> bool:
        given = (self.credentials_file, self.nkey_file, self.token_file, self.user)
        return any(given)


class StreamsSettings(_Group):
    """The agent's streams. NATS reserves 8 MiB more than all sizes: 512 MiB by default."""

    asks: StreamSize = Field(
        default=ByteSize(64 * _MIB), description="Reasons to look again; the oldest give way."
    )
    commands: StreamSize = Field(
        default=ByteSize(32 * _MIB), description="What people ordered; refused when full."
    )
    facts: StreamSize = Field(
        default=ByteSize(224 * _MIB), description="What happened, for 72 hours at most."
    )
    reports: StreamSize = Field(
        default=ByteSize(128 * _MIB),
        description="What the service has not acknowledged; grows while it is away.",
    )
    dead_letters: StreamSize = Field(
        default=ByteSize(32 * _MIB), description="Messages that nobody could handle."
    )
    results: StreamSize = Field(
        default=ByteSize(24 * _MIB), description="What became of tasks; the oldest give way."
    )
    replicas: Literal[1, 3, 5] = Field(
        default=1, description="Copies of each stream: 3 where NATS is a cluster of three."
    )

    @field_validator("replicas", mode="before")
    @classmethod
    def _number(cls, given: object) -> object:
        """Of the environment, where everything is text."""
        return int(given) if isinstance(given, str) and given.isdecimal() else given


class HttpSettings(_Group):
    host: str = Field(default="127.0.0.1", description="Address for webhooks, health and metrics.")
    port: int = Field(
        default=8080, ge=0, le=65535, description="Port of the webhook; 0 takes a free one."
    )
    metrics_port: int = Field(
        default=8081,
        ge=0,
        le=65535,
        description="Port of `/metrics`, `/healthz`, `/readyz`, `/leaderz`: for the cluster only.",
    )
    trusted_proxies: Annotated[tuple[Network, ...], NoDecode, BeforeValidator(_items)] = Field(
        default=(),
        description=(
            "Networks of the proxies in front of the webhook, as `10.0.0.0/8,fd00::/8`: their"
            " connections are not counted as those of one address."
        ),
    )


class WebhookSettings(_Group):
    body_limit: ByteSize = Field(
        default=ByteSize(5 * _MIB),
        gt=0,
        description="Largest body that is read (`5MiB`); GitHub's is 25 MB.",
    )
    unproven: bool = Field(
        default=False,
        description=(
            "Believe webhooks of a host without a secret although another host has one in"
            " `argocd-secret`; with no secret at all every host is believed."
        ),
    )


class PollSettings(_Group):
    interval: Seconds = Field(
        default=180.0, description="Time between looks at a repository (`180`, `3m`)."
    )
    jitter: float = Field(
        default=0.2, ge=0, le=0.5, description="Part of the interval that is random."
    )


class SandboxSettings(_Group):
    binary: PathHere | None = Field(
        default=None, description="The `gitops-sandbox` program; unset: found."
    )
    workers: PositiveInt = Field(default=2, description="Sandbox processes.")
    memory: ByteSize = Field(
        default=ByteSize(1024 * _MIB), ge=64 * _MIB, description="Memory limit of one process."
    )
    deadline: Seconds = Field(default=60.0, description="Longest time for one evaluation.")
    first_deadline: Seconds = Field(
        default=1.0,
        description="Longest time of the first try; what needs more waits for a slow worker.",
    )
    allow_missing: Annotated[tuple[Capability, ...], NoDecode, BeforeValidator(_items)] = Field(
        default=(),
        description="Confinements that may be missing here, of `rlimit_as`, `no_core`,"
        " `no_new_privs`, `seccomp`; each is a risk, and is warned of.",
    )


class LeaseSettings(_Group):
    enabled: bool = Field(default=True, description="Only the holder of a Kubernetes Lease acts.")
    name: Name = Field(
        default="gitops-agent", description="Name of the Lease in the control namespace."
    )


class LogSettings(_Group):
    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least level."
    )
    format: Literal["auto", "json", "console"] = Field(
        default="auto", description="`auto`: console on a terminal, else JSON."
    )


class RedisSettings(_Group):
    url: SecretStr | None = Field(
        default=None,
        description="`redis://`, `rediss://` or `unix://`; unset: artifacts on disk only.",
    )
    password_secret: str = Field(
        default="",
        description="Secret with the password of the Redis beside the agent, made where missing.",
    )


class TraceSettings(_Group):
    file: PathHere | None = Field(
        default=None, description="Append finished spans to this file as JSON."
    )


class LinkSettings(_Group):
    """The outbound link to the service; without a URL there is none. HTTPS_PROXY applies."""

    url: str = Field(
        default="", description="The service, `https://gitops.example`; empty: no link."
    )
    token_file: PathHere | None = Field(
        default=None, description="A file with the one-time enrolment token."
    )
    ca: PathHere | None = Field(default=None, description="Authorities to trust (PEM).")
    cert: PathHere | None = Field(default=None, description="Client certificate (PEM).")
    key: PathHere | None = Field(default=None, description="Key of the client certificate (PEM).")

    @model_validator(mode="after")
    def _check(self) -> LinkSettings:
        parts = urlsplit(self.url)
        local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        safe = parts.scheme == "https" or (parts.scheme == "http" and local)
        if self.url and not (safe and parts.hostname and not parts.username):
            raise ValueError("expected GITOPS_LINK_URL as https://host, without user or password")
        if (self.cert is None) != (self.key is None):
            raise ValueError("expected GITOPS_LINK_CERT and GITOPS_LINK_KEY: both or neither")
        return self


class Settings(BaseSettings):
    """Everything the process is told; frozen once read. Read it with `agent.configuration.load`."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="_",
        env_nested_max_split=1,
        extra="ignore",
        frozen=True,
        nested_model_default_partial_update=True,
    )

    account: Name = Field(
        default="default", description="Account: first part of every subject on the bus."
    )
    agent: Name = Field(
        default="agent", description="This agent's name: second part of every subject."
    )
    namespace: Name = Field(
        default="argocd", description="Control namespace: projects, secrets, settings."
    )
    destination_namespaces: Namespaces = Field(
        default=(), description="Namespaces to watch and deploy to, with commas; empty: all."
    )
    control_namespace_kinds: Kinds = Field(
        default=(),
        description=(
            "Kinds that Applications may bring into the control namespace, with commas:"
            " `Application,AppProject` for apps of apps; empty: nothing."
        ),
    )
    rights_profile: RightsProfile = Field(
        default="",
        description="Profile of rights that the agent was installed with, for its error messages.",
    )
    state_dir: PathHere = Field(
        default=Path("~/.local/state/gitops"),
        description="Mirrors, artifacts, the child nats-server.",
    )
    concurrency: PositiveInt = Field(default=16, description="Rooms at work at once.")
    drain_deadline: Seconds = Field(default=20.0, description="Time to finish when told to stop.")
    kube: KubeSettings = KubeSettings()
    nats: NatsSettings = NatsSettings()
    streams: StreamsSettings = StreamsSettings()
    redis: RedisSettings = RedisSettings()
    http: HttpSettings = HttpSettings()
    webhook: WebhookSettings = WebhookSettings()
    poll: PollSettings = PollSettings()
    sandbox: SandboxSettings = SandboxSettings()
    lease: LeaseSettings = LeaseSettings()
    log: LogSettings = LogSettings()
    trace: TraceSettings = TraceSettings()
    link: LinkSettings = LinkSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003  the library's signature
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003  likewise
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """What the caller gives, then the environment, then the file."""
        file = os.environ.get(FILE_VARIABLE)
        found = (TomlConfigSettingsSource(settings_cls, Path(file)),) if file else ()
        return (init_settings, env_settings, *found)
