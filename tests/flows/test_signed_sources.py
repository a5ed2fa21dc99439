"""Sources of a project that demands signatures: what is proven is rendered, and nothing else.

Git host, mirrors, GnuPG and the sandbox are real; the handlers are called by hand.
"""

from __future__ import annotations

import asyncio
import subprocess
import uuid
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bus.events import ManifestsRendered, RefreshApp, RenderFailed
from bus.identity import AppKey
from bus.status import Reason
from handlers.application.source_integrity import ALLOWED_SIGNERS
from playground.githost import GitHost
from playground.gnupg import SigningKey
from tests.flows.test_git_handlers import GitHandlers, handlers
from tests.signers import SignedRepository, Signers

__all__ = ["handlers"]


def file(name: str, text: str = "1") -> dict[str, str | None]:
    body = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{a: '{text}'}}\n"
    return {f"web/{name}.yaml": body}


class SignedSources:
    """A repository, its Application, and a project that demands signatures of it."""

    def __init__(self, handlers: GitHandlers, repository: SignedRepository) -> None:
        self.handlers = handlers
        self.repository = repository
        self.signers = repository.signers
        handlers.keys.update(self.signers.listed)
        self.app = AppKey("", "")

    def demand(self, mode: str, *keys: SigningKey) -> None:
        gpg = {"mode": mode, "keys": [one.fingerprint for one in keys]}
        policy = {"repos": [{"url": "*"}], "gpg": gpg}
        self.project({"sourceIntegrity": {"git": {"policies": [policy]}}})

    def project(self, spec: dict[str, Any], annotations: dict[str, str] | None = None) -> None:
        metadata = {"name": "default", "namespace": "argocd", "annotations": annotations or {}}
        body = {
            "metadata": metadata,
            "spec": {
                "sourceRepos": ["*"],
                "destinations": [{"server": "*", "namespace": "*"}],
                **spec,
            },
        }
        self.handlers.cluster.apps.put_project(msgspec.json.encode(body))

    def follow(self, target: str = "main") -> None:
        source = {"path": "web", "targetRevision": target}
        if self.app.name:
            self.handlers.cluster.change(self.app, {"spec": {"source": source}})
            return
        url = self.repository.repository.url
        self.app = self.handlers.cluster.add("web", url, source)

    async def rendered(self) -> str:
        """Render; the revision that was rendered."""
        found = await self._render()
        assert isinstance(found, ManifestsRendered), found
        return found.revision

    async def refused(self) -> RenderFailed:
        """Render; what is said where the source is not proven."""
        found = await self._render()
        assert isinstance(found, RenderFailed), found
        assert found.reason is Reason.SOURCE_UNPROVEN
        assert found.unproven is not None
        assert self.handlers.cluster.conditions(self.app)["ComparisonError"] == found.message
        return found

    async def _render(self) -> object:
        await self.handlers.refresh(self.repository.repository)
        return await self.handlers.render(self.app)


@pytest.fixture
def sources(handlers: GitHandlers, git_host: GitHost, signers: Signers) -> SignedSources:
    repository = git_host.create(f"signed/{uuid.uuid4().hex}")
    return SignedSources(handlers, SignedRepository(repository, signers))


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("", "not signed"),
        ("revoked", "signed with a revoked key"),
        ("expired", "signed with an expired key"),
        ("unlisted", "signed with a key that the agent does not know"),
    ],
)
async def test_a_commit_without_a_valid_signature_is_not_rendered(
    sources: SignedSources, key: str, problem: str
) -> None:
    signed_by = getattr(sources.signers, key) if key else None
    sources.demand("head", sources.signers.good, *([signed_by] if signed_by else []))
    commit = sources.repository.commit(file("a"), signed_by)
    sources.follow()
    fact = await sources.refused()
    assert fact.unproven is not None
    assert (fact.unproven.commit, fact.unproven.problem) == (commit, problem)
    assert fact.unproven.author == "Playground"
    assert fact.unproven.key[-16:] == (signed_by.id if signed_by else "")
    assert sources.signers.good.fingerprint in fact.unproven.expected
    assert commit[:10] in fact.message
    assert "Playground" in fact.message
    assert "spec.sourceIntegrity.git.policies[0]" in fact.message
    assert sources.handlers.renders.recall(sources.app) is None


async def test_a_known_key_that_the_project_does_not_name_proves_nothing(
    sources: SignedSources,
) -> None:
    sources.handlers.keys[sources.signers.unlisted.id] = sources.signers.unlisted.armoured
    sources.demand("head", sources.signers.good)
    sources.repository.commit(file("a"), sources.signers.unlisted)
    sources.follow()
    assert "a key that the project does not name" in (await sources.refused()).message


async def test_a_changed_commit_keeps_no_signature(sources: SignedSources) -> None:
    sources.demand("head", sources.signers.good)
    commit = sources.repository.commit(file("a"), sources.signers.good)
    sources.repository.forge(commit, b"change", b"chance")
    sources.follow()
    assert "bad signature" in (await sources.refused()).message


async def test_the_older_field_demands_the_head_alone(sources: SignedSources) -> None:
    sources.project({"signatureKeys": [{"keyID": sources.signers.good.id}]})
    sources.repository.commit(file("a"), None)
    commit = sources.repository.commit(file("b"), sources.signers.good)
    sources.follow()
    assert await sources.rendered() == commit
    sources.repository.commit(file("c"), None)
    assert "spec.signatureKeys" in (await sources.refused()).message


async def test_strict_demands_every_commit_back_to_a_seal(sources: SignedSources) -> None:
    good = sources.signers.good
    sources.repository.commit(file("a"), None)
    sources.demand("strict", good)
    unsigned = sources.repository.commit(file("b"), None)
    head = sources.repository.commit(file("c"), good)
    sources.follow()
    fact = await sources.refused()
    assert fact.unproven is not None
    assert fact.unproven.commit == unsigned
    assert head[:10] not in fact.message
    sealed = sources.repository.commit(file("d"), good, message="seal\n\nargocd-gpg-SEAL: read\n")
    assert await sources.rendered() == sealed
    last = sources.repository.commit(file("e"), good)
    assert await sources.rendered() == last


async def test_a_seal_without_a_signature_seals_nothing(sources: SignedSources) -> None:
    sources.demand("strict", sources.signers.good)
    sources.repository.commit(file("a"), None, message="seal\n\nArgocd-gpg-seal: mine\n")
    sources.repository.commit(file("b"), sources.signers.good)
    sources.follow()
    assert "not signed" in (await sources.refused()).message


async def test_an_unsigned_merge_commit_is_refused(sources: SignedSources) -> None:
    good = sources.signers.good
    sources.demand("head", good)
    sources.repository.commit(file("a"), good)
    aside = sources.repository.side(file("b"), good)
    sources.repository.merge(aside, None)
    sources.follow()
    assert "by Merger" in (await sources.refused()).message


async def test_a_merge_brings_no_unsigned_commit_past_strict(sources: SignedSources) -> None:
    good = sources.signers.good
    sources.demand("strict", good)
    sources.repository.commit(file("a"), good)
    aside = sources.repository.side(file("b"), None)
    merged = sources.repository.merge(aside, good)
    sources.follow()
    fact = await sources.refused()
    assert fact.unproven is not None
    assert fact.unproven.commit == aside
    sources.demand("head", good)
    assert await sources.rendered() == merged


async def test_of_an_annotated_tag_the_signature_of_the_tag_counts(sources: SignedSources) -> None:
    good = sources.signers.good
    sources.demand("head", good)
    commit = sources.repository.commit(file("a"), None)
    sources.repository.tag("v1.0.0", commit, good)
    sources.follow("v1.0.0")
    assert await sources.rendered() == commit
    signed = sources.repository.commit(file("b"), good)
    sources.repository.tag("v1.1.0", signed, None)
    sources.follow("v1.1.0")
    fact = await sources.refused()
    assert fact.unproven is not None
    assert fact.unproven.tag == "v1.1.0"


async def test_a_tag_under_another_name_than_its_own_is_refused(sources: SignedSources) -> None:
    """A signed tag of an old release must not be shown as a new one."""
    sources.demand("head", sources.signers.good)
    commit = sources.repository.commit(file("a"), None)
    sources.repository.tag("v1.0.0", commit, sources.signers.good, ref="v2.0.0")
    sources.follow("v2.0.0")
    assert "made under another name" in (await sources.refused()).message


async def test_a_deployed_commit_of_a_signed_tag_stays_proven_by_it(
    sources: SignedSources,
) -> None:
    """A sync names the commit, not the tag."""
    sources.demand("head", sources.signers.good)
    commit = sources.repository.commit(file("a"), None)
    sources.repository.tag("v1.0.0", commit, sources.signers.good)
    sources.follow("v1.0.0")
    await sources.rendered()
    operation = {"operation": {"sync": {"revision": commit}}}
    sources.handlers.cluster.change(sources.app, operation)
    assert await sources.rendered() == commit


async def test_a_tag_that_moves_lends_no_other_commit_its_signature(
    sources: SignedSources,
) -> None:
    good = sources.signers.good
    sources.demand("head", good)
    unsigned = sources.repository.commit(file("a"), None)
    sources.repository.tag("v1", unsigned, None)
    sources.follow("v1")
    handlers, app = sources.handlers, sources.app
    await handlers.refresh(sources.repository.repository)
    access = handlers.sources.access(handlers.source(app), "default")
    resolved = await handlers.sources.resolve(access, "v1")
    signed = sources.repository.commit(file("b"), None)
    sources.repository.tag("v1", signed, good)
    await handlers.refresh(sources.repository.repository)
    with pytest.raises(Exception, match="v1 has moved"):
        await handlers.prover.signatures.checks(access, resolved, targets=("v1",), strict=False)
    assert await sources.rendered() == signed


async def test_a_key_that_is_removed_proves_nothing_any_more(sources: SignedSources) -> None:
    good = sources.signers.good
    sources.demand("head", good)
    commit = sources.repository.commit(file("a"), good)
    sources.follow()
    assert await sources.rendered() == commit
    del sources.handlers.keys[good.id]
    asked = await sources.handlers.refresh(sources.repository.repository)
    assert asked == (RefreshApp(app=sources.app),)
    assert "argocd-gpg-keys-cm" in (await sources.refused()).message


async def test_a_render_from_before_the_demand_is_judged_again(sources: SignedSources) -> None:
    sources.repository.commit(file("a"), None)
    sources.follow()
    await sources.rendered()
    sources.demand("head", sources.signers.good)
    assert await sources.handlers.refresh(sources.repository.repository) == (
        RefreshApp(app=sources.app),
    )
    await sources.refused()
    sources.project({})
    await sources.rendered()


async def test_a_render_counts_until_its_signature_expires(sources: SignedSources) -> None:
    good = sources.signers.good
    sources.demand("head", good)
    sources.repository.commit(file("a"), good, until="20991231T000000")
    sources.follow()
    await sources.rendered()
    assert await sources.handlers.refresh(sources.repository.repository) == ()
    sources.handlers.clock.pass_by(100 * 366 * 86_400.0)
    asked = await sources.handlers.refresh(sources.repository.repository)
    assert asked == (RefreshApp(app=sources.app),)


async def test_a_commit_may_be_signed_with_a_key_of_ssh(
    sources: SignedSources, tmp_path: Path
) -> None:
    key = tmp_path / "ada"
    make = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key)
    await asyncio.to_thread(subprocess.run, make, check=True, timeout=60)
    public = key.with_suffix(".pub").read_text().strip()
    sources.handlers.signers["allowed_signers"] = f"ada@example.org {public}"
    sources.project({}, {ALLOWED_SIGNERS: "ada@example.org"})
    commit = sources.repository.commit_by_ssh(file("a"), key)
    sources.follow()
    assert await sources.rendered() == commit
    sources.project({}, {ALLOWED_SIGNERS: "eve@example.org"})
    fact = await sources.refused()
    assert fact.unproven is not None
    assert fact.unproven.key.startswith("SHA256:")
    assert "eve@example.org" in fact.unproven.expected


async def test_each_source_is_judged(sources: SignedSources, git_host: GitHost) -> None:
    good = sources.signers.good
    sources.demand("head", good)
    sources.repository.commit(file("a"), good)
    other = SignedRepository(git_host.create(f"signed/{uuid.uuid4().hex}"), sources.signers)
    other.commit({"values.yaml": "a: b\n"}, None)
    sources.follow()
    both = [
        {"repoURL": sources.repository.repository.url, "targetRevision": "main", "path": "web"},
        {"repoURL": other.repository.url, "targetRevision": "main", "ref": "values"},
    ]
    sources.handlers.cluster.change(sources.app, {"spec": {"source": None, "sources": both}})
    assert (await sources.refused()).message.startswith("spec.sources[1]: ")
    other.commit({"values.yaml": "a: c\n"}, good)
    await sources.handlers.refresh(other.repository)
    await sources.rendered()
