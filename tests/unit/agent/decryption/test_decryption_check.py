"""What SOPS has encrypted in a render is checked before anything is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
import yaml

from bus.identity import AppKey, Digest, RepositoryKey, Revision
from bus.repository_url import RepositoryUrl
from bus.status import Reason
from handlers.application.spec import Source
from handlers.comparison.decryption import decrypted_artifact
from handlers.manifest.manifest_assembly import artifact_lines
from handlers.ports import RepositoryAccess
from handlers.ports.remote_base import RemoteBase
from handlers.ports.render_record import RenderRecord, SourceRecord
from handlers.ports.rendering import RecordedOrigin, RenderError, RenderResult
from handlers.render.decryption_check import DecryptionCheck
from handlers.render.source_resolver import ResolvedSource
from tests.sops_files import BOTH, PASSWORD, SECOND, SECRET
from tests.unit.agent.decryption.keyed_project import APP, KeyedProject
from tests.unit.agent.renderer.written_tree import WrittenTree

CIPHERTEXT = "ENC[AES256_GCM,data:eA==,iv:eA==,tag:eA==,type:str]"
BASE = RemoteBase(repository="https://me:pass@git.example/base", ref="v1")
URL = RepositoryUrl.parse("https://git.example/apps")


def source(files: Mapping[str, str]) -> ResolvedSource:
    return ResolvedSource(
        app=APP,
        source=Source(repo_url=str(URL), path="web"),
        access=RepositoryAccess(URL),
        revision=Revision("0" * 40),
        tree=WrittenTree(files),
    )


def rendered(
    *objects: dict[str, Any], read: Mapping[str, str] | None = None, **fields: Any
) -> RenderResult:
    return RenderResult(
        objects=tuple(map(msgspec.json.encode, objects)),
        origins=tuple(RecordedOrigin("web/all.yaml", place + 1) for place, _ in enumerate(objects)),
        read_set=read or {"web/all.yaml": "1"},
        **fields,
    )


def encrypted(text: str = SECRET, **metadata: str) -> dict[str, Any]:
    one = yaml.safe_load(text)
    return {**one, "metadata": {**one["metadata"], **metadata}}


async def refusal(
    project: KeyedProject, files: Mapping[str, str], *objects: dict[str, Any]
) -> RenderError:
    check = DecryptionCheck(decryption=project.decryption)
    with pytest.raises(RenderError) as caught:
        await check.check(source(files), rendered(*objects))
    assert caught.value.reason is Reason.DECRYPTION_FAILED
    return caught.value


async def test_an_object_of_a_whole_file_passes_under_another_name(project: KeyedProject) -> None:
    check = DecryptionCheck(decryption=project.decryption)
    files = {"web/all.yaml": SECRET, "web/other.yaml": BOTH}
    await check.check(source(files), rendered(encrypted(name="prod-db", namespace="prod")))


async def test_a_file_of_a_remote_base_counts_and_its_login_is_not_shown(
    project: KeyedProject,
) -> None:
    check = DecryptionCheck(decryption=project.decryption)
    result = rendered(encrypted(), bases={BASE: {"db.yaml": "1"}})
    await check.check(source({}), result, {BASE: WrittenTree({"db.yaml": SECRET})})
    broken = WrittenTree({"db.yaml": SECRET.replace("type: Opaque", "type: opaque")})
    with pytest.raises(RenderError) as caught:
        await check.check(source({}), result, {BASE: broken})
    assert "git.example/base: db.yaml cannot be decrypted" in caught.value.message
    assert "pass@" not in caught.value.message


@pytest.mark.parametrize(
    ("one", "words"),
    [
        ({"kind": "ConfigMap", "data": {"a": CIPHERTEXT}}, "no block `sops` that names their keys"),
        ({"kind": "ConfigMap", "data": {"a": CIPHERTEXT}, "sops": "x"}, "no block `sops`"),
        ({"kind": "SecretList", "items": [{}], "sops": {"mac": "x"}}, "one by one"),
        ({"kind": "AllowList", "spec": {"a": CIPHERTEXT}}, "no block `sops`"),
        ({"kind": "List", "items": [{"kind": "Secret", "sops": {"mac": "x"}}]}, "no sound file"),
        ({"kind": "List", "items": [{"sops": {"mac": "x"}}], "sops": None}, "no sound file"),
        ({"kind": CIPHERTEXT, "sops": {"mac": "x"}}, "encrypt its values only (sops"),
        ({"kind": "Secret", "sops": {"mac": "x"}}, "it is no sound file of SOPS"),
    ],
)
async def test_ciphertext_that_nobody_can_open_is_never_applied(
    project: KeyedProject, one: dict[str, Any], words: str
) -> None:
    manifest = {"apiVersion": "v1", "metadata": {"name": "web"}, **one}
    plain = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    error = await refusal(project, {}, plain, manifest)
    assert words in error.message
    assert "of web/all.yaml cannot be decrypted: " in error.message
    assert error.document == 2


@pytest.mark.parametrize(
    ("files", "text", "words"),
    [
        ({}, SECRET, "no file that was read of the repository has its block"),
        ({"web/all.yaml": f"{{{{ if 1 }}}}\n{SECRET}"}, SECRET, "(SOPS cannot read it)"),
        ({"web/all.yaml": SECRET.replace(": db", ": x")}, SECRET, "(MAC)"),
        ({"web/all.yaml": SECOND}, SECOND, "none of the keys of the AppProject 'shop' opens it"),
    ],
)
async def test_a_refusal_says_which_object_and_what_to_do(
    project: KeyedProject, files: dict[str, str], text: str, words: str
) -> None:
    error = await refusal(project, files, encrypted(text))
    assert error.message.startswith("Secret db of web/all.yaml cannot be decrypted: ")
    assert words in error.message
    assert error.file == "web/all.yaml"


async def test_an_artifact_of_an_earlier_version_is_not_opened(project: KeyedProject) -> None:
    content = artifact_lines([encrypted()])
    record = RenderRecord(
        app=AppKey("argocd", "web"),
        sources=(
            SourceRecord(
                repository=RepositoryKey("x"), revision=Revision("0"), recipe=Digest("sha256:0")
            ),
        ),
        digest=Digest("sha256:1"),
        objects=1,
    )
    with pytest.raises(RenderError, match="earlier version"):
        await decrypted_artifact(project.decryption, APP, record, content)
    checked = tuple(msgspec.structs.replace(one, is_verified=True) for one in record.sources)
    record = msgspec.structs.replace(record, sources=checked)
    assert PASSWORD.encode() in await decrypted_artifact(project.decryption, APP, record, content)
