"""One ConfigMap followed by name, and the three that are read so."""

from __future__ import annotations

import msgspec
from structlog.testing import capture_logs

from agent.git.failures import CERTIFICATES
from agent.git.ssh_failures import KNOWN_HOSTS
from agent.kube.watch import WatchState
from agent.store.config_maps import ArgoSettingsWatch, PolicyWatch
from agent.store.git_server_trust import GitServerTrust
from agent.store.named_config_map import Data, NamedConfigMap
from handlers.application.argo_parameters import PARAMETERS
from handlers.application.argo_settings import CONFIG_MAP


def raw(name: str, **data: str) -> bytes:
    return msgspec.json.encode({"metadata": {"name": name, "namespace": "argocd"}, "data": data})


def listed(config_map: NamedConfigMap, *found: bytes) -> None:
    """As a complete list tells it."""
    config_map.begin_list()
    for one in found:
        config_map.put(one)
    config_map.end_list("1")


def test_what_is_written_is_told_and_what_is_gone_is_told_as_none() -> None:
    contents: list[Data | None] = []
    config_map = NamedConfigMap(name="mine", on_data=contents.append, on_refused=lambda _why: None)
    listed(config_map, raw("another", a="1"), raw("mine", a="1"))
    config_map.put(raw("mine"))
    config_map.remove(raw("another"))
    config_map.remove(raw("mine"))
    listed(config_map)
    assert contents == [{"a": "1"}, {}, None, None]


def test_only_a_list_or_a_refusal_makes_it_certain() -> None:
    refusals: list[str] = []
    config_map = NamedConfigMap(name="mine", on_data=lambda _data: None, on_refused=refusals.append)
    config_map.put(raw("mine"))
    config_map.on_state(WatchState.FAILING, "away")
    assert not config_map.known.is_set()
    config_map.on_state(WatchState.FORBIDDEN, "no right")
    assert config_map.known.is_set()
    assert refusals == ["no right"]


def test_a_policy_that_may_not_be_read_allows_no_writing() -> None:
    policy = PolicyWatch()
    listed(policy.config_map, raw("gitops-agent-limits", readOnly="false"))
    assert not policy.now.read_only
    policy.config_map.on_state(WatchState.FORBIDDEN, "no right")
    assert policy.now.read_only
    assert policy.changed.is_set()


def test_certificates_are_found_by_host_and_forgotten_with_the_config_map() -> None:
    trust = GitServerTrust()
    certificates, known_hosts = trust.config_maps.members
    listed(certificates, raw(CERTIFICATES, **{"Git.example.org": "PEM"}))
    assert trust.authority("https://git.example.org:8443/x") == "PEM"
    certificates.remove(raw(CERTIFICATES))
    assert trust.authority("https://git.example.org:8443/x") == ""
    listed(known_hosts, raw(KNOWN_HOSTS, ssh_known_hosts="git.example ssh-ed25519 AAAA"))
    assert trust.known_hosts() == "git.example ssh-ed25519 AAAA"


def test_settings_hold_of_both_config_maps_and_each_is_warned_of_once() -> None:
    settings, changes = ArgoSettingsWatch(), list[int]()
    settings.changes.subscribe(lambda: changes.append(1))
    written, parameters = settings.config_maps.members
    with capture_logs() as logs:
        listed(written, raw(CONFIG_MAP, **{"kustomize.path.v5": "/k"}))
        listed(parameters, raw(PARAMETERS, **{"reposerver.allow.oob.symlinks": "true"}))
        listed(written, raw(CONFIG_MAP, **{"kustomize.path.v5": "/k"}))
    assert [log["field"].split()[0] for log in logs] == [
        "kustomize.path.v5",
        "reposerver.allow.oob.symlinks",
    ]
    assert len(settings.now.unsupported) == 2
    assert len(changes) == 2


def test_settings_that_may_not_be_read_hold_automated_syncs_until_they_may() -> None:
    settings = ArgoSettingsWatch()
    written, parameters = settings.config_maps.members
    listed(written, raw(CONFIG_MAP, **{"cluster.inClusterEnabled": "false"}))
    written.on_state(WatchState.FORBIDDEN, "no right")
    parameters.on_state(WatchState.FORBIDDEN, "no right")
    (held,) = settings.now.harmful
    assert held.field == "the ConfigMap argocd-cm"
    assert len(settings.now.unsupported) == 2
    assert not settings.now.in_cluster_enabled, "what was read last still holds"

    listed(written, raw(CONFIG_MAP))
    listed(parameters, raw(PARAMETERS))
    assert settings.now.unsupported == ()
