"""`gitops diff`: whether live objects hold the desired state, by the agent's own comparison.

Offline there is no server to ask. Where only the server could decide, the objects count as equal
and the text names what is uncertain.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any

import msgspec
import typer

from bus.identity import ResourceKey
from cli import output
from cli.command import new_app
from cli.local.inputs import InputDocument, InputManifests, refuse, sorted_out
from handlers.comparison.normalised_objects import normalise
from handlers.comparison.object_diff import diff as compare
from handlers.comparison.object_difference import (
    ChangeKind,
    DiffOutcome,
    DiffVerdict,
    FieldDifference,
)
from handlers.comparison.owned_fields import owned_fields
from handlers.manifest import access
from handlers.manifest.access import Manifest, annotation, mapping
from handlers.manifest.tracking import TRACKING_ID
from sandbox.client.binary import SandboxMissingError

app = new_app()

_SIGN = {ChangeKind.CHANGED: "~", ChangeKind.MISSING: "+", ChangeKind.EXTRA: "-"}


@app.command(epilog="Exit codes: 0 the same, 1 something differs, 2 bad input.")
def diff(
    desired: Annotated[list[str], typer.Option(help="File with what is wanted; repeatable.")],
    live: Annotated[list[str], typer.Option(help="File with what the cluster has; repeatable.")],
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one line of JSON per object.")
    ] = False,
) -> None:
    """Compare each desired object with its live one.

    With as many --live as --desired files they are taken in pairs; else all live objects are
    one set. Objects are paired by group, kind, namespace and name.
    """
    sets = [(d, live) for d in desired]
    if len(desired) == len(live):
        sets = [(d, [one]) for d, one in zip(desired, live, strict=True)]
    try:
        raise typer.Exit(asyncio.run(_diff_all(sets, as_json=as_json)))
    except SandboxMissingError as e:
        output.stop(str(e))


def outcome_of(pair: ObjectPair) -> DiffOutcome:
    """Compare one pair; a live object from Git is read with the author's spelling of values."""
    if pair.live is None:
        whole = FieldDifference(path="", kind=ChangeKind.MISSING)
        return DiffOutcome(verdict=DiffVerdict.DIFFERENT, differences=(whole,))
    live, owned = normalise(pair.live), owned_fields(pair.live)
    return compare(_stamped(pair.desired.manifest, live), live, owned)


async def _diff_all(sets: Sequence[tuple[str, Sequence[str]]], *, as_json: bool) -> output.Exit:
    """Diff all inputs and return the worst code; an input that cannot be read stops no other."""
    worst = output.Exit.FINE
    async with InputManifests() as manifests:
        for desired, live in sets:
            desired_objects, bad = sorted_out(await manifests.examine(desired))
            found, worse = sorted_out([it async for it in manifests.each(live)])
            broken = (*bad, *worse)
            for pair in pair_up(desired_objects, found, lone=not broken):
                if pair.live is not None or not worse:  # else it may be in what cannot be read
                    worst = max(worst, _one(pair, as_json=as_json))
            worst = max((worst, *(refuse(error, as_json=as_json) for error in broken)))
    return worst


def _one(pair: ObjectPair, *, as_json: bool) -> output.Exit:
    outcome = outcome_of(pair)
    _write(pair.desired, outcome, as_json=as_json)
    return output.Exit.NO if outcome.verdict is DiffVerdict.DIFFERENT else output.Exit.FINE


def _stamped(desired: Manifest, live: Manifest) -> Manifest:
    """Add the tracking annotation that the agent would write: an object from Git has none yet."""
    tracking = annotation(live, TRACKING_ID)
    if not tracking or annotation(desired, TRACKING_ID):
        return desired
    metadata = mapping(desired, "metadata")
    notes = {**mapping(metadata, "annotations"), TRACKING_ID: tracking}
    return {**desired, "metadata": {**metadata, "annotations": notes}}


def _write(document: InputDocument, outcome: DiffOutcome, *, as_json: bool) -> None:
    if as_json:
        output.line(
            {
                "file": document.file,
                "modified": outcome.verdict is DiffVerdict.DIFFERENT,
                "changes": [_change(difference) for difference in outcome.differences],
            }
        )
        return
    for written in _lines(document, outcome):
        output.text(written)


def _change(difference: FieldDifference) -> dict[str, Any]:
    return {
        "path": difference.path,
        "kind": difference.kind.value,
        "desired": difference.desired,
        "live": difference.live,
    }


def _lines(document: InputDocument, outcome: DiffOutcome) -> Iterator[str]:
    yield f"{document.about}: {outcome.verdict.value.lower()}"
    for difference in outcome.differences:
        yield f"  {_SIGN[difference.kind]} {_shown(difference)}"
    for doubt in outcome.doubts:
        yield f"  ? {doubt}: only the server can tell"


def _shown(difference: FieldDifference) -> str:
    match difference.kind:
        case ChangeKind.MISSING:
            return f"{difference.path}: {difference.desired!r}" if difference.path else "not there"
        case ChangeKind.EXTRA:
            return f"{difference.path}: {difference.live!r}"
        case ChangeKind.CHANGED:
            return f"{difference.path}: {difference.live!r} -> {difference.desired!r}"


class ObjectPair(msgspec.Struct, frozen=True, kw_only=True):
    desired: InputDocument
    live: Manifest | None


def pair_up(
    desired: Sequence[InputDocument], live: Sequence[InputDocument], *, lone: bool
) -> list[ObjectPair]:
    """Make one pair for every desired object, in their order.

    `lone`: these are all there are, so that two alone belong together.
    """
    if lone and len(desired) == 1 and len(live) == 1:
        return [ObjectPair(desired=desired[0], live=live[0].manifest)]
    exact = _by(_key, live)
    anywhere = _by(_without_namespace, live)
    return [ObjectPair(desired=each, live=_find(each, exact, anywhere)) for each in desired]


def _find(
    desired: InputDocument,
    exact: Mapping[ResourceKey, Manifest],
    anywhere: Mapping[ResourceKey, Manifest],
) -> Manifest | None:
    found = exact.get(_key(desired))
    if found is None and not access.namespace(desired.manifest):
        return anywhere.get(_without_namespace(desired))
    return found


def _by(
    key: Callable[[InputDocument], ResourceKey], documents: Sequence[InputDocument]
) -> Mapping[ResourceKey, Manifest]:
    return {key(document): document.manifest for document in documents}


def _key(document: InputDocument) -> ResourceKey:
    return access.key(document.manifest)


def _without_namespace(document: InputDocument) -> ResourceKey:
    return msgspec.structs.replace(_key(document), namespace="")
