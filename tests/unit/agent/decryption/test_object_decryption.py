"""Encrypted objects, opened by the real program with the keys that a project may use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from handlers.ports.decryption import DecryptionError, DecryptionProblem, EncryptedObjects
from tests.sops_files import BOTH, FIRST_KEY, PASSWORD, PIN, SECOND_KEY
from tests.unit.agent.decryption.keyed_project import APP, KeyedProject, secret


def objects(text: str = BOTH) -> tuple[dict[str, Any], ...]:
    return tuple(yaml.safe_load_all(text))


def artifact(*found: dict[str, Any]) -> bytes:
    return b"".join(msgspec.json.encode(one) + b"\n" for one in found)


async def problem_of(project: KeyedProject) -> DecryptionError:
    with pytest.raises(DecryptionError) as caught:
        await project.decryption.opened(APP, artifact(*objects()))
    return caught.value


async def test_what_is_encrypted_is_opened_and_the_rest_stays(project: KeyedProject) -> None:
    plain = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1"}}
    content = artifact(plain, *objects())
    opened = await project.decryption.opened(APP, content)
    first, db, web = map(json.loads, opened.splitlines())
    assert first == plain
    assert db["stringData"] == {"password": PASSWORD}
    assert web["data"]["pin"] == PIN
    assert "sops" not in {*db, *web}


async def test_opened_values_are_masked_from_then_on(project: KeyedProject) -> None:
    await project.decryption.opened(APP, artifact(*objects()))
    assert PASSWORD not in project.known.mask(f"the password is {PASSWORD}")


async def test_what_was_opened_once_needs_the_keys_again_and_no_process(
    project: KeyedProject,
) -> None:
    content = artifact(*objects())
    opened = await project.decryption.opened(APP, content)
    assert await project.decryption.opened(APP, content) is opened
    project.secrets = (secret("sops", SECOND_KEY),)
    again = await project.decryption.opened(APP, content)
    assert again is not opened
    assert again == opened
    project.secrets = ()
    assert (await problem_of(project)).problem is DecryptionProblem.NO_KEYS


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"keys": ""}, "the AppProject 'shop' names no keys"),
        ({"keys": "a/b"}, "cannot be understood: 'a/b' is not the name of a Secret"),
        ({"is_governed": True}, "came or was changed over the link"),
        ({"secrets": ()}, "there is no Secret sops with the label"),
        ({"secrets": (secret("sops", FIRST_KEY, label="other"),)}, "there is no Secret sops"),
        ({"secrets": (secret("sops", FIRST_KEY, governed=True),)}, "there is no Secret sops"),
        ({"secrets": (secret("other", FIRST_KEY),)}, "there is no Secret sops"),
        ({"secrets": (secret("sops", ""),)}, "have no keys: name their entries *.agekey"),
    ],
)
async def test_a_project_gets_no_keys_but_its_own(
    project: KeyedProject, change: dict[str, Any], words: str
) -> None:
    for name, value in change.items():
        setattr(project, name, value)
    error = await problem_of(project)
    assert error.problem is DecryptionProblem.NO_KEYS
    assert words in error.message


async def test_a_key_that_is_no_key_is_refused_without_being_shown(project: KeyedProject) -> None:
    project.secrets = (secret("sops", "AGE-SECRET-KEY-1QQQ"),)
    error = await problem_of(project)
    assert error.problem is DecryptionProblem.KEY_INVALID
    assert "1QQQ" not in str(error)


async def test_a_file_whose_code_is_broken_is_refused(project: KeyedProject) -> None:
    db, _ = objects()
    changed = BOTH.replace("type: Opaque", "type: opaque").encode()
    found = EncryptedObjects(objects=(msgspec.json.encode(db),), files={"db.yaml": changed})
    with pytest.raises(DecryptionError) as caught:
        await project.decryption.verify(APP, found)
    assert (caught.value.problem, caught.value.place) == (DecryptionProblem.BROKEN_MAC, 0)
    assert caught.value.file == "db.yaml"
    whole = EncryptedObjects(objects=found.objects, files={"db.yaml": BOTH.encode()})
    await project.decryption.verify(APP, whole)


async def test_a_file_that_grows_without_end_costs_one_process(project: KeyedProject) -> None:
    aliases = "".join(
        f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 12)
    )
    bomb = f"a0: &a0 [x, x, x]\n{aliases}{BOTH.partition('---')[0]}".encode()
    db, _ = objects()
    found = EncryptedObjects(objects=(msgspec.json.encode(db),), files={"db.yaml": bomb})
    decryption = project.opened_by(project.binary, deadline=20.0)
    with pytest.raises(DecryptionError) as caught:
        await decryption.verify(APP, found)
    assert caught.value.problem in (
        DecryptionProblem.TOO_LARGE,
        DecryptionProblem.FAILED,
        DecryptionProblem.UNVERIFIED,
    )


async def test_a_program_that_is_not_there_is_named(project: KeyedProject) -> None:
    decryption = project.opened_by(Path("/nowhere/gitops-sops"))
    with pytest.raises(DecryptionError, match="/nowhere/gitops-sops cannot be started"):
        await decryption.opened(APP, artifact(*objects()))
