"""`gitops cluster` and `gitops repo` against a real service."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from nacl.public import SealedBox

from bus.link import StateBody, TaskKind
from bus.link.sealing import sealing_fingerprint
from tests.unit.cli.service_fixture import ServiceFixture, answering

SERVER = "https://staging.example:6443"
URL = "https://git.example/team/apps"


def reported(kind: str, name: str, spec: dict[str, Any], **state: Any) -> StateBody:
    status = {"connectionState": state, "info": {"serverVersion": "v1.33.1"}}
    return StateBody(
        kind=kind, name=name, namespace="argocd", spec=spec, status=status, edit_version="7"
    )


STAGING = reported(
    "Cluster",
    "cluster-staging",
    {"name": "staging", "server": SERVER},
    status="Failed",
    message="the cluster 'staging' cannot be used: refused",
    attemptedAt="2026-01-01T10:00:00+00:00",
    contactAt="2026-01-01T09:59:50+00:00",
)
PROD = reported(
    "Cluster", "cluster-prod", {"name": "prod", "server": f"{SERVER}3"}, status="Successful"
)
APPS = reported("Repository", "repo-apps", {"url": URL}, status="Successful")


async def test_clusters_are_listed_and_one_is_shown_with_its_last_contact(
    service: ServiceFixture,
) -> None:
    await service.log_in("viewer")
    async with answering(service.running_service, PROD, STAGING):
        listed = await service.run("cluster", "list")
        plain = await service.run("cluster", "list", "--json")
        one = await service.run("cluster", "get", "prod/staging")
        by_server = await service.run("cluster", "get", SERVER, "--json")
        nothing = await service.run("cluster", "get", "nowhere")
    assert listed.code == 0, listed.err
    assert [line.split()[0] for line in listed.out.splitlines()] == ["Cluster", "staging", "prod"]
    assert sorted(it["name"] for it in plain.answers) == ["prod", "staging"]
    assert "◆ Failed" in one.out
    assert "cannot be used: refused" in one.out
    assert "Last contact" in one.out
    assert by_server.answers[0]["contactAt"] == "2026-01-01T09:59:50+00:00"
    assert nothing.code == 2
    assert "See: gitops cluster list" in nothing.err


async def test_a_cluster_is_added_with_a_token_that_only_its_agent_reads(
    service: ServiceFixture, tmp_path: Path
) -> None:
    await service.log_in()
    token, authority = tmp_path / "token", tmp_path / "ca.crt"
    token.write_text("c4nary-token\n")
    authority.write_text("-----BEGIN CERTIFICATE-----\n")
    where = ("staging", "--server", SERVER, "--project", "shop", "--ca-file", authority)
    async with answering(service.running_service) as agent:
        added = await service.run("cluster", "add", *where, "--token-file", token, "--wait")
        missing = await service.run("cluster", "add", *where, "--token-file", tmp_path / "no")
        both = await service.run(
            *("cluster", "add", *where, "--token-file", token, "--secret", "login")
        )
    assert (added.code, missing.code, both.code) == (0, 2, 2), added.err
    (offer,) = agent.offered
    asked = offer.task.arguments
    assert (offer.task.kind, asked["kind"], asked["name"]) == (TaskKind.PUT, "Cluster", "staging")
    assert (asked["project"], asked["spec"]) == ("shop", {"server": SERVER})
    assert "c4nary" not in json.dumps(asked)
    opened = json.loads(SealedBox(agent.keys.sealing).decrypt(base64.b64decode(asked["sealed"])))
    assert opened["server"] == SERVER
    assert json.loads(opened["config"])["bearerToken"] == "c4nary-token"


async def test_repositories_are_listed_added_tested_and_removed(service: ServiceFixture) -> None:
    await service.log_in()
    refs = {"branches": ["main"], "tags": ["v1", "v2"]}
    async with answering(service.running_service, APPS, **{TaskKind.REFS: {"body": refs}}) as agent:
        listed = await service.run("repo", "list")
        tested = await service.run("repo", "test", URL)
        added = await service.run(
            *("repo", "add", URL, "--username", "bot", "--password-file", "-", "--wait"),
            stdin="c4nary-password\n",
        )
        unnamed = await service.run("repo", "add", URL, "--username", "bot")
        unasked = await service.run("repo", "rm", URL)
        removed = await service.run("repo", "rm", URL, "--yes", "--wait")
    assert (listed.code, tested.code, added.code, removed.code) == (0, 0, 0, 0), (
        listed.err + tested.err + added.err + removed.err
    )
    assert URL in listed.out
    assert "1 branches, 2 tags" in tested.out
    assert (unnamed.code, unasked.code) == (2, 2)
    assert "will be removed with its credential" in unasked.err
    put = next(it.task.arguments for it in agent.offered if it.task.kind == TaskKind.PUT)
    opened = json.loads(SealedBox(agent.keys.sealing).decrypt(base64.b64decode(put["sealed"])))
    assert opened == {"url": URL, "username": "bot", "password": "c4nary-password"}
    assert [it.task.kind for it in agent.offered][-1] == TaskKind.DELETE
    assert agent.offered[-1].task.precondition == {"uid": "uid-repo-apps", "editVersion": "7"}


async def test_a_credential_is_sealed_to_no_other_key_than_the_expected_one(
    service: ServiceFixture,
) -> None:
    await service.log_in()
    login = ("repo", "add", URL, "--username", "bot", "--password-file", "-")
    async with answering(service.running_service) as agent:
        found = sealing_fingerprint(base64.b64encode(bytes(agent.keys.sealing.public_key)).decode())
        unasked = await service.run(*login, stdin="c4nary\n")
        taken = await service.run(*login, "--sealing-key-fingerprint", found, stdin="c4nary\n")
        offered = len(agent.offered)
        other = found.replace(found[-1], "#")
        refused = await service.run(*login, "--sealing-key-fingerprint", other, stdin="c4nary\n")
        unsealed = await service.run("repo", "add", URL, "--sealing-key-fingerprint", found)
    assert (unasked.code, taken.code, refused.code, unsealed.code) == (0, 0, 3, 2), refused.err
    assert found in unasked.err
    assert found not in taken.err
    assert found in refused.err
    assert len(agent.offered) == offered


@pytest.mark.parametrize(
    "arguments",
    [
        ("repo", "add", "https://c4nary@git.example/team/apps"),
        ("repo", "add", "HTTPS://bot:c4nary@git.example/team/apps"),
        ("repo", "add", "ssh://git:c4nary@git.example/team/apps"),
        ("cluster", "add", "staging", "--server", "https://bot:c4nary@staging.example:6443"),
    ],
)
async def test_a_login_in_an_address_is_not_sent(
    service: ServiceFixture, arguments: tuple[str, ...]
) -> None:
    await service.log_in()
    async with answering(service.running_service) as agent:
        added = await service.run(*arguments)
        plain = await service.run("repo", "add", "ssh://git@git.example/team/apps", "--wait")
    assert (added.code, plain.code) == (2, 0), plain.err
    assert "has a login in it" in added.err
    assert "c4nary" not in added.err + added.out
    assert len(agent.offered) == 1


async def test_who_may_only_look_makes_nothing_known(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    async with answering(service.running_service, PROD):
        added = await service.run("cluster", "add", "staging", "--server", SERVER)
        removed = await service.run("cluster", "rm", "prod/prod", "--yes")
    assert (added.code, removed.code) == (4, 4)
