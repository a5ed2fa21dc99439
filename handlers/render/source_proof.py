"""SourceProver refuses sources whose commits are not signed as the AppProject demands.

It stands between the revision of a source and everything that is made of it: render, preview and
sync. A render carries the proof that its sources had (`SourceProof`): the digest of what was
demanded and trusted, and the time until it holds. Where the project, the keys or the clock say
otherwise later, the render counts no more, and its sources are judged again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from bus.events import Commit, UnprovenCommit
from bus.identity import digest_of
from bus.status import Reason
from handlers.application.application import Application, AppProject
from handlers.application.artifact_signers import ARTIFACT_SIGNERS, names_gnupg_keys
from handlers.application.desired_source import as_desired
from handlers.application.source_integrity import (
    IntegrityMode,
    IntegrityPolicy,
    has_integrity,
    integrity_problems,
    policy_of,
)
from handlers.application.spec import Source
from handlers.application.target_revision import asked_revision
from handlers.ports import Clock, RendererBusyError
from handlers.ports.render_record import BaseRecord, RenderRecord, SourceProof
from handlers.ports.rendering import RenderError
from handlers.ports.signatures import Signatures, TagMovedError
from handlers.render.source_resolver import ResolvedSource
from handlers.render.submodule_tree import submodules_of
from handlers.report.public_commit import public_commit
from handlers.trust.signature import SignatureCheck, SignatureState

_NAMED = 5
_SHORT = 10
_AGAIN = 0.5
_REMEDIES = {
    SignatureState.UNSIGNED: "sign it (git commit -S, git tag -s) and push again",
    SignatureState.KEY_UNKNOWN: "add the public key to the ConfigMap argocd-gpg-keys-cm (of "
    "SSH: gitops-allowed-signers), if its owner may sign, or have it signed by another",
    SignatureState.GOOD: "add the key to the project (of SSH: the principal, in the annotation "
    "plumbline.dev/allowed-signers), if its owner may sign, or have it signed by another",
    SignatureState.RENAMED: "make and sign a tag of this name",
}
_SIGN_ANEW = "have it signed anew, by a key that is valid"


class UnprovenError(RenderError):
    """A commit is not signed as the project demands."""

    def __init__(self, message: str, unproven: UnprovenCommit) -> None:
        super().__init__(Reason.SOURCE_UNPROVEN, message)
        self.unproven = unproven


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceProver:
    project: Callable[[str], AppProject | None]
    signatures: Signatures
    clock: Clock

    def demand(self, app: Application, submodules: Iterable[str] = ()) -> str:
        """The digest of what the project demands of the sources now; empty where of none.

        `submodules` are the URLs of those that are read with them.
        """
        modules = (Source(repo_url=url) for url in sorted(set(submodules)))
        return self._demand(app.spec.project, (*as_desired(app).sources, *modules))

    def _demand(self, name: str, sources: Sequence[Source]) -> str:
        project = self.project(name)
        signers = project.metadata.annotations.get(ARTIFACT_SIGNERS, "") if project else ""
        if project is None or not (signers or has_integrity(project)):
            return ""
        policies = tuple(policy_of(project, one) for one in sources)
        problems = tuple(integrity_problems(project, tuple(sources)))
        if not (any(policies) or problems):
            keys = self.signatures.trust if names_gnupg_keys(project) else ""
            return digest_of(f"{signers}{keys}".encode()) if signers else ""
        demanded = (policies, self.signatures.trust, signers, *problems)
        return digest_of(msgspec.json.encode(demanded))

    def holds(self, app: Application, record: RenderRecord) -> bool:
        """Whether the sources of a render are proven as it is demanded now."""
        bases = (base for one in record.sources for base in one.bases)
        submodules = (url for one in record.sources for url in one.submodules.values())
        return self._counts(record.proof, self.demand(app, submodules)) and all(
            self.base_holds(one, app.spec.project) for one in bases
        )

    def base_holds(self, record: BaseRecord, project: str) -> bool:
        """Whether a remote base is proven as it is demanded now."""
        return self._counts(record.proof, self._demand(project, (record.wanted.source,)))

    def _counts(self, proof: SourceProof, demand: str) -> bool:
        in_time = not proof.until or self.clock.now().timestamp() < proof.until
        return in_time and proof.demand == demand

    async def prove(
        self, app: Application, sources: Sequence[ResolvedSource], targets: Sequence[str]
    ) -> SourceProof:
        """Judge each source, resolved of `targets`; raises UnprovenError for the first that fails.

        Also the errors of the check; RendererBusyError too where a tag has moved meanwhile, and
        RenderError where the project's demand cannot be understood.
        """
        submodules = [it for one in sources for it in _submodule_sources(one)]
        demand = self.demand(app, (it.source.repo_url for it in submodules))
        if not demand:
            return SourceProof()
        self._check_understood(app.spec.project, tuple(one.source for one in sources))
        until = list[float]()
        of_submodules = ((one, one.revision) for one in submodules)
        for one, target in (*zip(sources, targets, strict=True), *of_submodules):
            until += await self._proven(one, target)
        return SourceProof(demand=demand, until=min(until, default=0.0))

    async def prove_base(self, base: ResolvedSource) -> SourceProof:
        """Judge a remote base, resolved of its target revision; raises as `prove` does."""
        demand = self._demand(base.app.spec.project, (base.source,))
        if not demand:
            return SourceProof()
        self._check_understood(base.app.spec.project, (base.source,))
        until = await self._proven(base, base.source.target_revision)
        return SourceProof(demand=demand, until=min(until, default=0.0))

    def _check_understood(self, name: str, sources: tuple[Source, ...]) -> None:
        project = self.project(name)
        for problem in integrity_problems(project, sources) if project else ():
            raise RenderError(Reason.INVALID_SPEC, problem)

    async def _proven(self, one: ResolvedSource, target: str) -> Sequence[float]:
        """Judge a source; returns when its signatures and keys expire."""
        policy = policy_of(self.project(one.app.spec.project), one.source)
        if policy is None:
            return ()
        checks = await self._checks(one, target, policy)
        _judge(one, policy, checks, self.signatures.trust_problem)
        return tuple(it.until for it in checks if it.until)

    async def _checks(
        self, one: ResolvedSource, target: str, policy: IntegrityPolicy
    ) -> Sequence[SignatureCheck]:
        try:
            return await self.signatures.checks(
                one.access,
                one.revision,
                targets=tuple(dict.fromkeys((target, asked_revision(one.source)))),
                strict=policy.mode is IntegrityMode.STRICT,
            )
        except TagMovedError as error:
            raise RendererBusyError(str(error), after=_AGAIN) from error


def _submodule_sources(one: ResolvedSource) -> Iterator[ResolvedSource]:
    """The submodules of a source that are read, each as a source of its own."""
    place = f"{one.place}: " if one.place else ""
    for it in submodules_of(one.tree):
        yield replace(
            one,
            source=Source(repo_url=it.url, target_revision=it.revision),
            access=it.access,
            revision=it.revision,
            tree=it.tree,
            place=f"{place}submodule {it.path}",
        )


def _judge(
    source: ResolvedSource,
    policy: IntegrityPolicy,
    checks: Sequence[SignatureCheck],
    trust_problem: str,
) -> None:
    problems = list(_unproven(policy, checks))
    if not problems:
        return
    place = f"{source.place}: " if source.place else ""
    named = "; ".join(map(_in_words, problems[:_NAMED]))
    more = f"; and {len(problems) - _NAMED} more commits" if len(problems) > _NAMED else ""
    state = next(it.state for it in checks if not policy.proves(it))
    remedy = trust_problem or _REMEDIES.get(state, _SIGN_ANEW)
    project = source.app.spec.project
    message = (
        f"{place}nothing is deployed of {source.access.key}: {named}{more}. The AppProject "
        f"{project!r} demands {policy.expected} ({policy.place}, mode {policy.mode}); "
        f"{remedy}"
    )
    raise UnprovenError(message, problems[0])


def _unproven(
    policy: IntegrityPolicy, checks: Sequence[SignatureCheck]
) -> Iterator[UnprovenCommit]:
    for check in checks:
        if policy.proves(check):
            continue
        is_good = check.state is SignatureState.GOOD
        public = public_commit(Commit(author=check.author))
        yield UnprovenCommit(
            commit=check.id,
            tag=public_commit(Commit(message=check.tag)).message,
            author=public.author,
            problem="signed with a key that the project does not name" if is_good else check.state,
            key=check.key,
            expected=policy.expected,
        )


def _in_words(one: UnprovenCommit) -> str:
    what = f"the tag {one.tag!r}" if one.tag else f"the commit {one.commit[:_SHORT]}"
    by = f" by {one.author}" if one.author else ""
    key = f" (key {one.key})" if one.key else ""
    return f"{what}{by} is not proven: {one.problem}{key}"
