"""Settings of the other parts of the process, one group a part."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import (
    BeforeValidator,
    ByteSize,
    Field,
    PositiveInt,
    model_validator,
)
from pydantic_settings import NoDecode

from agent.settings.values import MIB, Kinds, Name, PathHere, Seconds, SettingsGroup, items
from bus.http.forwarded import Network
from sandbox.client.confinement import Capability


class KubeSettings(SettingsGroup):
    kubeconfig: PathHere | None = Field(
        default=None, description="Kubeconfig file; unset: in-cluster."
    )
    context: str = Field(
        default="", description="Context of the kubeconfig; empty: its current one."
    )
    ceiling: PositiveInt = Field(
        default=64, description="Most requests open at the API server at once."
    )
    exec_commands: Kinds = Field(
        default=(),
        description=(
            "Commands that Secrets of clusters may run as credential plugins, with commas, each"
            " with all its arguments, `*` for one that may be anything:"
            " `aws eks get-token --cluster-name *`; empty: none."
        ),
    )
    aws_clusters: Kinds = Field(
        default=(),
        description=(
            "Clusters of EKS to which Secrets with `awsAuthConfig` may log in as the agent's"
            " identity at AWS, as `NAME@SERVER`, with commas and `*` for a part of a name or host:"
            " `prod-*@https://*.eks.amazonaws.com`; empty: none."
        ),
    )


class HttpSettings(SettingsGroup):
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
    trusted_proxies: Annotated[tuple[Network, ...], NoDecode, BeforeValidator(items)] = Field(
        default=(),
        description=(
            "Networks of the proxies in front of the webhook, as `10.0.0.0/8,fd00::/8`: their"
            " connections are not counted as those of one address."
        ),
    )


class WebhookSettings(SettingsGroup):
    body_limit: ByteSize = Field(
        default=ByteSize(5 * MIB),
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


class PollSettings(SettingsGroup):
    interval: Seconds = Field(
        default=180.0,
        description="Time between looks at a repository (`180`, `3m`); `timeout.reconciliation`"
        " of `argocd-cm` goes before.",
    )
    jitter: float = Field(
        default=0.2, ge=0, le=0.5, description="Part of the interval that is random."
    )


class GitSettings(SettingsGroup):
    submodules: bool = Field(
        default=True,
        description=(
            "Read the submodules that a render looks into; else their folders are empty"
            " (Argo CD's `ARGOCD_GIT_MODULES_ENABLED`)."
        ),
    )


class SandboxSettings(SettingsGroup):
    binary: PathHere | None = Field(
        default=None, description="The `gitops-sandbox` program; unset: found."
    )
    workers: PositiveInt = Field(default=2, description="Sandbox processes.")
    memory: ByteSize = Field(
        default=ByteSize(1024 * MIB), ge=64 * MIB, description="Memory limit of one process."
    )
    deadline: Seconds = Field(default=60.0, description="Longest time for one evaluation.")
    first_deadline: Seconds = Field(
        default=1.0,
        description="Longest time of the first try; what needs more waits for a slow worker.",
    )
    allow_missing: Annotated[tuple[Capability, ...], NoDecode, BeforeValidator(items)] = Field(
        default=(),
        description="Confinements that may be missing here, of `rlimit_as`, `no_core`,"
        " `no_new_privs`, `seccomp`; each is a risk, and is warned of.",
    )


class PluginsSettings(SettingsGroup):
    """Config management plugins, in sidecars of the agent."""

    folder: PathHere | None = Field(
        default=None,
        description="Folder with the sockets of config management plugins; unset: there are none.",
    )
    binary: PathHere | None = Field(
        default=None, description="The `gitops-plugins` program; unset: found."
    )
    parallel: PositiveInt = Field(
        default=4, description="Most calls of one plugin at once; one project has not all of them."
    )
    deadline: Seconds = Field(default=90.0, description="Longest time for one render by a plugin.")
    match_deadline: Seconds = Field(
        default=15.0,
        description="Longest time in which a plugin says whether it recognises a source.",
    )
    repository_bytes: ByteSize = Field(
        default=ByteSize(256 * MIB), gt=0, description="Most bytes of files that a plugin is sent."
    )
    output_bytes: ByteSize = Field(
        default=ByteSize(32 * MIB),
        ge=MIB,
        le=48 * MIB,
        description="Most bytes that a plugin may answer.",
    )
    exclude: Kinds = Field(
        default=(),
        description="Paths that no plugin is sent, with commas, `*` for a part: `.git*,docs`.",
    )


class SopsSettings(SettingsGroup):
    """Decryption of what SOPS has encrypted in Git."""

    binary: PathHere | None = Field(
        default=None, description="The `gitops-sops` program; unset: found."
    )
    deadline: Seconds = Field(
        default=30.0, description="Longest time for the decryption of one Application's objects."
    )


class LeaseSettings(SettingsGroup):
    enabled: bool = Field(default=True, description="Only the holder of a Kubernetes Lease acts.")
    name: Name = Field(
        default="gitops-agent", description="Name of the Lease in the control namespace."
    )


class ReplicasSettings(SettingsGroup):
    """Several processes of one agent: by default one acts, and the others stand by."""

    divide: bool = Field(
        default=False,
        description="All replicas act: they divide the 64 shards of Applications among them.",
    )
    lease: Seconds = Field(
        default=12.0,
        ge=2,
        description="A replica that was silent for so long is replaced by the others.",
    )


class FactsSettings(SettingsGroup):
    objects: bool = Field(
        default=True,
        description=(
            "Publish `fact.object.changed.v1` for each change of an object that an Application"
            " tracks."
        ),
    )


class LogSettings(SettingsGroup):
    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least level."
    )
    format: Literal["auto", "json", "console"] = Field(
        default="auto", description="`auto`: console on a terminal, else JSON."
    )


class TraceSettings(SettingsGroup):
    file: PathHere | None = Field(
        default=None,
        description="Append finished spans to this file as JSON; a collector gets them by OTEL_*.",
    )


class LinkSettings(SettingsGroup):
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
    exec_idle: Seconds = Field(
        default=900.0, description="A shell in a container without input and output ends so soon."
    )
    exec_longest: Seconds = Field(
        default=7200.0, description="The longest time that a shell in a container is open."
    )

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
