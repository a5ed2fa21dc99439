"""Process settings: what is given from outside, checked as a whole before anything is opened.

Each field is an environment variable (`GITOPS_NATS_URL` is `nats.url`); the same names stand in the
TOML file that GITOPS_SETTINGS_FILE points to (`[nats]`, `url = ...`). The environment wins.
Settings of the product itself live in the cluster, in Argo CD's ConfigMaps and Secrets, not here.
docs/settings.md is made from these types.
"""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import Field, PositiveInt
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from agent.settings.bus_settings import NatsSettings, RedisSettings, StreamsSettings
from agent.settings.process_settings import (
    FactsSettings,
    GitSettings,
    HttpSettings,
    KubeSettings,
    LeaseSettings,
    LinkSettings,
    LogSettings,
    PluginsSettings,
    PollSettings,
    ReplicasSettings,
    SandboxSettings,
    SopsSettings,
    TraceSettings,
    WebhookSettings,
)
from agent.settings.values import Kinds, Name, Namespaces, PathHere, RightsProfile, Seconds

PREFIX = "GITOPS_"
FILE_VARIABLE = "GITOPS_SETTINGS_FILE"


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
    concurrency: PositiveInt = Field(default=16, description="Handlers at work at once.")
    drain_deadline: Seconds = Field(default=20.0, description="Time to finish when told to stop.")
    kube: KubeSettings = KubeSettings()
    nats: NatsSettings = NatsSettings()
    streams: StreamsSettings = StreamsSettings()
    redis: RedisSettings = RedisSettings()
    http: HttpSettings = HttpSettings()
    webhook: WebhookSettings = WebhookSettings()
    poll: PollSettings = PollSettings()
    git: GitSettings = GitSettings()
    sandbox: SandboxSettings = SandboxSettings()
    plugins: PluginsSettings = PluginsSettings()
    sops: SopsSettings = SopsSettings()
    lease: LeaseSettings = LeaseSettings()
    replicas: ReplicasSettings = ReplicasSettings()
    facts: FactsSettings = FactsSettings()
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
