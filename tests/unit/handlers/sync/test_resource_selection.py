from __future__ import annotations

import pytest

from bus.identity import ResourceKey
from handlers.application.spec import SyncOperation, SyncResource
from handlers.manifest.options import SyncOptions
from handlers.sync.resource_selection import in_words, is_selected, selects_nothing
from handlers.sync.sync_work import work_of
from tests.unit.handlers.sync.builders import comparison, manifest

WEB = ResourceKey("apps", "Deployment", "shop", "web")
SITE = ResourceKey("", "ConfigMap", "shop", "site")
JOB = ResourceKey("batch", "Job", "jobs", "clean")
ALL = (WEB, SITE, JOB)


def entry(text: str) -> SyncResource:
    group, kind, namespace, name = text.split("/")
    return SyncResource(group=group, kind=kind, namespace=namespace, name=name)


@pytest.mark.parametrize(
    ("written", "selected"),
    [
        ((), ALL),
        (("apps/Deployment//web",), (WEB,)),
        (("apps/Deployment/other/web",), ()),
        (("/Deployment//web",), ()),
        (("*/*//*",), ALL),
        (("*/*/shop/*",), (WEB, SITE)),
        (("*/ConfigMap/*/*", "batch/*//*"), (SITE, JOB)),
        (("*/!Job//*",), (WEB, SITE)),
        (("*/*//*", "apps/!Deployment/shop/web"), (SITE, JOB)),
        (("apps/!Deployment/shop/web", "apps/Deployment/shop/web"), ()),
        (("*/!*//*",), ()),
        (("/Config*//site",), ()),
        (("*/!//*",), ()),
        (("*/!!Job//*",), ()),
        (("*/!Job //*",), ()),
    ],
    ids=str,
)
def test_entries_select_objects(
    written: tuple[str, ...], selected: tuple[ResourceKey, ...]
) -> None:
    entries = [entry(one) for one in written]
    assert tuple(key for key in ALL if is_selected(key, entries)) == selected


def test_a_sync_leaves_excluded_objects_alone() -> None:
    sync = SyncOperation(resources=(SyncResource(kind="!ConfigMap", name="b"),))
    work = work_of(comparison((manifest("a"), manifest("b"))), sync, SyncOptions())
    assert [task.key.name for task in work.tasks] == ["a"]


@pytest.mark.parametrize("written", ["apps/Deployment//wbe", "*/!*//*"])
def test_a_selection_without_an_object_is_known(written: str) -> None:
    assert selects_nothing(ALL, [entry(written)])


@pytest.mark.parametrize("written", ["", "apps/Deployment//web", "*/!Job//*"])
def test_a_selection_with_an_object_and_none_at_all_are_no_mistake(written: str) -> None:
    entries = [entry(written)] if written else []
    assert not selects_nothing(ALL, entries)
    assert not selects_nothing(ALL, [entry("apps/Deployment//wbe"), entry("/ConfigMap//site")])


def test_entries_are_named_as_the_command_line_takes_them_and_not_all_of_very_many() -> None:
    written = [entry("apps/Deployment/shop/web"), entry("/ConfigMap//site")]
    many = [entry(f"/ConfigMap//c{number}") for number in range(1000)]
    assert in_words(written) == "apps:Deployment:shop/web, :ConfigMap:site"
    assert in_words(many).endswith(":ConfigMap:c4 and 995 more")
