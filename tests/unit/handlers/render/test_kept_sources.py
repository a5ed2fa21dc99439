"""Which sources of the last render need no other one."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from bus.identity import NO_DIGEST, AppKey, Digest, Revision
from bus.repository_url import RepositoryUrl
from handlers.ports import RepositoryAccess
from handlers.ports.render_record import RefRecord, RenderRecord, SourceRecord
from handlers.ports.rendering import Recipe, SourceType
from handlers.render.kept_sources import at_revisions, is_whole, kept_sources, moved_together
from handlers.render.source_resolver import ResolvedSource, with_only
from tests.unit.agent.renderer.written_tree import WrittenTree
from tests.unit.handlers.application.builders import application

OLD, NEW = Revision("0" * 40), Revision("1" * 40)
SHOP, VALUES = "https://git.example/shop", "https://git.example/values"
PLAIN = Recipe(type=SourceType.DIRECTORY, path="web", app_name="web", namespace="shop")
CHART = replace(PLAIN, type=SourceType.HELM, path="chart", refs=("values",))
REF = {"repoURL": VALUES, "ref": "values"}


def source(written: dict[str, Any], *files: str) -> ResolvedSource:
    app = application({"sources": [written]})
    tree = WrittenTree(dict.fromkeys(files, "new"))
    access = RepositoryAccess(url=RepositoryUrl.parse(written["repoURL"]))
    alone = with_only(app, app.sources[0])
    return ResolvedSource(app=alone, source=app.sources[0], access=access, revision=NEW, tree=tree)


def record(one: ResolvedSource, recipe: Recipe | None, **parts: Any) -> SourceRecord:
    whole: dict[str, Any] = {
        "repository": one.access.key,
        "revision": OLD,
        "recipe": recipe.fingerprint if recipe else NO_DIGEST,
    }
    return SourceRecord(**(whole | parts))


def last(*sources: SourceRecord) -> RenderRecord:
    return RenderRecord(
        app=AppKey("argocd", "web"), sources=sources, several=True, digest=Digest("d"), objects=1
    )


WEB = source({"repoURL": SHOP, "path": "web"}, "web/a.yaml")
API = source({"repoURL": SHOP, "path": "chart"}, "web/a.yaml")
LENT = source(REF, "prod.yaml")
HOLDS = {"web/b.yaml": ""}
CHANGED = {"web/a.yaml": "another id"}


def test_only_what_read_something_else_is_rendered() -> None:
    same = record(WEB, PLAIN, read_set=HOLDS)
    known = last(same, record(API, CHART, read_set=CHANGED))
    assert kept_sources(known, [WEB, API], [PLAIN, CHART]) == (same, None)


def test_a_source_is_known_in_another_place() -> None:
    web, api = record(WEB, PLAIN, read_set=HOLDS), record(API, CHART, read_set=HOLDS)
    kept = kept_sources(last(web, api), [API, WEB], [CHART, PLAIN])
    assert kept == (api, web)
    assert not is_whole(last(web, api), kept)
    assert not is_whole(last(web, api), (web,))
    assert is_whole(last(api, web), kept)


def test_another_recipe_or_repository_is_another_source() -> None:
    known = last(record(WEB, PLAIN, read_set=HOLDS))
    elsewhere = source({"repoURL": VALUES, "path": "web"}, "web/a.yaml")
    assert kept_sources(known, [WEB], [replace(PLAIN, namespace="other")]) == (None,)
    assert kept_sources(known, [elsewhere], [PLAIN]) == (None,)
    assert kept_sources(None, [WEB], [PLAIN]) == (None,)


def reading(**read_set: str) -> SourceRecord:
    refs = {"values": RefRecord(LENT.access.key, read_set)}
    return record(API, CHART, read_set=HOLDS, refs=refs)


def test_a_file_behind_a_ref_renders_who_read_it() -> None:
    lent = record(LENT, None)
    holds, moved = reading(**{"dev.yaml": ""}), reading(**{"prod.yaml": "another id"})
    recipes = [CHART, None]
    assert kept_sources(last(holds, lent), [API, LENT], recipes) == (holds, lent)
    assert kept_sources(last(moved, lent), [API, LENT], recipes) == (None, None)


def test_a_ref_of_another_repository_renders_who_read_it() -> None:
    other = source(REF | {"repoURL": SHOP}, "prod.yaml")
    known = last(reading(**{"dev.yaml": ""}), record(LENT, None))
    assert kept_sources(known, [API, other], [CHART, None]) == (None, None)
    assert kept_sources(known, [API], [CHART]) == (None,)


def test_revisions_move_where_they_are_asked_for() -> None:
    known = last(record(WEB, PLAIN), record(LENT, None))
    moved = at_revisions(known, [WEB, LENT])
    assert [one.revision for one in moved.sources] == [NEW, NEW]
    assert at_revisions(moved, [WEB, LENT]) is moved


def test_all_sources_of_a_repository_move_with_the_one_that_was_rendered() -> None:
    elsewhere = source({"repoURL": VALUES, "path": "web"}, "web/a.yaml")
    sources, recipes = [WEB, API, elsewhere], [PLAIN, PLAIN, PLAIN]
    made = last(*(record(one, PLAIN) for one in sources))
    assert moved_together(made, sources, recipes, {0, 2}).revisions.each == (NEW, NEW, OLD)
    assert moved_together(made, sources, recipes, {0, 1, 2}) == made


def test_a_source_that_lends_files_moves_with_the_one_that_reads_them() -> None:
    lends = source({**REF, "path": "web"}, "web/a.yaml", "prod.yaml")
    made = last(record(API, CHART), record(lends, PLAIN))
    assert moved_together(made, [API, lends], [CHART, PLAIN], {1}).revisions.each == (NEW, NEW)
