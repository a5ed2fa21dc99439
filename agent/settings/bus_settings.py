"""Settings of what carries events and keeps artifacts: NATS, its streams, Redis."""

from __future__ import annotations

from typing import Literal

from pydantic import ByteSize, Field, SecretStr, field_validator, model_validator

from agent.settings.values import MIB, PathHere, SettingsGroup, StreamSize


class NatsSettings(SettingsGroup):
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
        value = (self.credentials_file, self.nkey_file, self.token_file, self.user)
        return any(value)


class StreamsSettings(SettingsGroup):
    """The agent's streams. NATS reserves 8 MiB more than all sizes: 512 MiB by default."""

    asks: StreamSize = Field(
        default=ByteSize(64 * MIB), description="Reasons to look again; the oldest give way."
    )
    commands: StreamSize = Field(
        default=ByteSize(32 * MIB), description="What people ordered; refused when full."
    )
    facts: StreamSize = Field(
        default=ByteSize(224 * MIB), description="What happened, for 72 hours at most."
    )
    reports: StreamSize = Field(
        default=ByteSize(128 * MIB),
        description="What the service has not acknowledged; grows while it is away.",
    )
    dead_letters: StreamSize = Field(
        default=ByteSize(32 * MIB), description="Messages that nobody could handle."
    )
    results: StreamSize = Field(
        default=ByteSize(24 * MIB), description="What became of tasks; the oldest give way."
    )
    replicas: Literal[1, 3, 5] = Field(
        default=1, description="Copies of each stream: 3 where NATS is a cluster of three."
    )

    @field_validator("replicas", mode="before")
    @classmethod
    def _number(cls, value: object) -> object:
        """Of the environment, where everything is text."""
        return int(value) if isinstance(value, str) and value.isdecimal() else value


class RedisSettings(SettingsGroup):
    url: SecretStr | None = Field(
        default=None,
        description="`redis://`, `rediss://` or `unix://`; unset: artifacts on disk only.",
    )
    password_secret: str = Field(
        default="",
        description="Secret with the password of the Redis beside the agent, made where missing.",
    )
