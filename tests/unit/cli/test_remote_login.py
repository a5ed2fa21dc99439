"""Logging in and out: what is kept, who may read it, and that no secret is seen anywhere."""

from __future__ import annotations

import asyncio
import os
import select
import stat
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from service.lifecycle import now
from service.store import tables
from tests.unit.cli.conftest import ROOT, Gitops
from tests.unit.cli.service_fixture import PASSWORD, ServiceFixture


async def test_a_password_opens_a_session_that_is_kept_for_its_owner_only(
    service: ServiceFixture,
) -> None:
    ran = await service.run("login", service.url, "--name", "admin", stdin=f"{PASSWORD}\n")
    assert ran.code == 0, ran.err
    assert f"logged in at {service.url} as admin" in ran.out
    assert stat.S_IMODE(service.contexts_file.stat().st_mode) == 0o600
    assert stat.S_IMODE(service.contexts_file.parent.stat().st_mode) == 0o700
    assert PASSWORD not in service.contexts_file.read_text() + ran.out + ran.err


async def test_a_session_may_change_things_and_ends_with_the_logout(
    service: ServiceFixture,
) -> None:
    await service.run("login", service.url, "--name", "admin", stdin=PASSWORD)
    kept = service.contexts_file.read_text()
    made = await service.run("agent", "create", "prod", "--json")
    left = await service.run("logout")
    after = await service.run("agent", "list")
    service.contexts_file.write_text(kept)
    with_the_old_cookie = await service.run("agent", "list")
    assert (made.code, left.code, after.code, with_the_old_cookie.code) == (0, 0, 4, 4), made.err
    assert "gitops login URL" in after.err
    assert "gitops login URL" in with_the_old_cookie.err


async def test_a_variable_names_another_file_of_logins(
    service: ServiceFixture, tmp_path: Path
) -> None:
    other = tmp_path / "contexts.json"
    login = ("login", service.url, "--name", "admin", "--context", "other")
    await service.run(*login, stdin=PASSWORD, GITOPS_CONTEXTS=str(other))
    elsewhere = await service.run("agent", "list")
    there = await service.run("context", "list", GITOPS_CONTEXTS=str(other))
    assert not service.contexts_file.exists()
    assert (elsewhere.code, there.code) == (4, 0)
    assert "other" in there.out


async def test_a_wrong_password_is_refused_and_nothing_is_kept(service: ServiceFixture) -> None:
    ran = await service.run("login", service.url, "--name", "admin", stdin="wrong-guess")
    assert (ran.code, ran.out) == (4, "")
    assert "name or password is wrong; an administrator can set another" in ran.err
    assert "gitops login" not in ran.err
    assert "wrong-guess" not in ran.err
    assert not service.contexts_file.exists()


async def test_a_token_is_read_from_a_file_and_tried_before_it_is_kept(
    service: ServiceFixture, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text(f"{await service.token('viewer')}\n")
    arguments = (service.url, "--token", "--password-file", file, "--context", "ci")
    ran = await service.run("login", *arguments)
    refused = await service.run("login", service.url, "--token", stdin="gt_nobodys")
    listed = await service.run("context", "list", "--json")
    assert (ran.code, refused.code) == (0, 4), ran.err
    assert "the token grants no access here; make another" in refused.err
    (context,) = listed.answers
    assert (context["name"], context["current"], context["login"]) == ("ci", True, "token")
    assert file.read_text().strip() not in listed.out + ran.out + ran.err


async def test_one_of_several_logins_counts_and_another_can_be_named(
    service: ServiceFixture,
) -> None:
    await service.run("login", service.url, "--name", "admin", "--context", "boss", stdin=PASSWORD)
    token = await service.token("viewer")
    await service.run("login", service.url, "--token", "--context", "guest", stdin=token)
    as_guest = await service.run("audit", "list")
    as_boss = await service.run("audit", "list", "--context", "boss", "--json")
    used = await service.run("context", "use", "boss")
    now_boss = await service.run("audit", "list")
    unknown = await service.run("audit", "list", "--context", "nobody")
    codes = [it.code for it in (as_guest, as_boss, used, now_boss, unknown)]
    assert codes == [4, 0, 0, 0, 2]
    assert "boss, guest" in unknown.err


async def test_a_token_that_has_expired_is_exit_code_4(service: ServiceFixture) -> None:
    await service.log_in("viewer", expires_at=now() - timedelta(seconds=1))
    ran = await service.run("app", "list")
    assert (ran.code, ran.out) == (4, "")
    assert "Log in: gitops login URL" in ran.err


async def test_a_service_that_is_away_is_exit_code_3(service: ServiceFixture) -> None:
    token = await service.log_in("viewer")
    text = service.contexts_file.read_text().replace(service.url, "http://127.0.0.1:1")
    service.contexts_file.write_text(text)
    ran = await service.run("app", "list")
    assert (ran.code, ran.out) == (3, "")
    assert "http://127.0.0.1:1 cannot be reached" in ran.err
    assert token not in ran.err


async def test_every_login_stands_in_the_audit(service: ServiceFixture) -> None:
    await service.run("login", service.url, "--name", "admin", stdin=PASSWORD)
    actions = [row.action for row in await service.running_service.rows(tables.audit)]
    assert "login.succeeded" in actions


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://gitops.example.com", "unencrypted"),
        ("https://me:hush@gitops.example.com", "must not hold a user or password"),
        ("ftp://gitops.example.com", "expected a URL"),
        ("https://gitops.example.com/path", "expected a URL"),
    ],
)
def test_a_url_that_would_give_the_secret_away_is_refused(
    gitops: Gitops, url: str, message: str
) -> None:
    ran = gitops("login", url, "--name", "me", stdin=b"secret")
    assert ran.code == 2
    assert message in ran.err
    assert "hush" not in ran.err


def test_no_option_takes_a_secret(gitops: Gitops) -> None:
    ran = gitops("login", "https://gitops.example.com", "--token", "gt_on-the-command-line")
    assert ran.code == 2


def test_a_file_that_is_not_ours_is_told_and_left_alone(gitops: Gitops, tmp_path: Path) -> None:
    file = tmp_path / "config" / "gitops" / "contexts.json"
    file.parent.mkdir(parents=True)
    file.write_text("no json")
    ran = gitops("app", "list", XDG_CONFIG_HOME=tmp_path / "config")
    assert (ran.code, file.read_text()) == (2, "no json")
    assert str(file) in ran.err


async def test_a_password_that_is_typed_is_not_shown(service: ServiceFixture) -> None:
    code, asked, shown = await asyncio.to_thread(typed, service, PASSWORD)
    assert (code, asked) == (0, "Password of admin: ")
    assert PASSWORD not in shown


def typed(service: ServiceFixture, password: str) -> tuple[int, str, str]:
    """At a terminal: the exit code, what was asked, and what there was to see after it."""
    ours, theirs = os.openpty()
    command = [sys.executable, "-c", "from cli.main import main; main()"]
    variables = {"PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(service.config)}
    with subprocess.Popen(
        [*command, "login", service.url, "--name", "admin"],
        env={**os.environ, **variables},
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        asked = os.read(process.stderr.fileno(), 100)
        os.write(ours, f"{password}\n".encode())
        out, err = process.communicate(timeout=180)
    shown = os.read(ours, 1000) if select.select([ours], [], [], 0)[0] else b""
    os.close(ours)
    os.close(theirs)
    return process.returncode, asked.decode(), (shown + out + err).decode()
