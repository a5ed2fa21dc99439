import io

from rich.console import Console

from benchmarks.counters import cpu_seconds, snapshot
from benchmarks.figures import BenchmarkReport, Figure, rows, table_of
from benchmarks.workload import OBJECTS, application, files, names, objects, placed

AGENT = """\
# HELP argocd_app_k8s_request_total Requests to the API server.
# TYPE argocd_app_k8s_request_total counter
argocd_app_k8s_request_total{response_code="200",verb="patch"} 7.0
argocd_app_k8s_request_total{response_code="409",verb="patch"} 1.0
# TYPE gitops_renders_total counter
gitops_renders_total{cached="false"} 3.0
gitops_renders_total{cached="true"} 9.0
"""
SERVER = """\
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",resource="deployments",verb="APPLY"} 4
apiserver_request_total{code="201",resource="deployments",verb="APPLY"} 1
apiserver_request_total{code="200",resource="applications",verb="PATCH"} 2
apiserver_request_total{code="200",resource="applications",verb="WATCH"} 5
apiserver_request_total{code="200",resource="leases",verb="PUT"} 6
apiserver_request_total{code="200",resource="",verb="GET"} 8
"""


def test_requests_are_counted_on_both_sides_without_leases_and_watches() -> None:
    seen = snapshot(AGENT, SERVER, {})

    assert seen.requests == 8
    assert seen.served == 7
    assert seen.written("deployments") == 5
    assert seen.written() == 7


def test_only_renders_that_evaluated_something_count() -> None:
    assert snapshot(AGENT, SERVER, {}).renders == 3


def test_what_was_done_is_the_difference_of_two_looks() -> None:
    done = snapshot(AGENT, SERVER, {"agent": 5.0}).since(snapshot("", SERVER, {"agent": 2.0}))

    assert (done.requests, done.served, done.cpu) == (8, 0, {"agent": 3.0})


def test_a_row_is_the_median_with_its_range_and_ratio_to_the_floor() -> None:
    repeats = [
        (Figure(name="wall", unit="s", value=value, floor=2.0, aim=1.5),) for value in (4, 2, 9)
    ]

    (row,) = rows(repeats)

    assert (row.value, row.low, row.high, row.ratio) == (4, 2, 9, 2)


def test_a_missed_aim_is_said() -> None:
    late = (Figure(name="p50", unit="ms", value=200, aim=150),)
    report = BenchmarkReport(
        benchmark="push", applications=3, work="a push", rows=rows([late]), load_before=0
    )
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(table_of(report))

    assert "missed" in console.export_text()


def test_the_cpu_of_this_process_is_the_benchmark_s() -> None:
    assert cpu_seconds(None)["benchmark"] > 0


def test_the_workload_is_four_objects_an_application() -> None:
    expected = names(3)

    assert len(files(expected)) == 3 * OBJECTS
    assert {one["kind"] for one in objects("app")} == {
        "Deployment",
        "ConfigMap",
        "Service",
        "ServiceAccount",
    }


def test_floor_and_agent_apply_the_same_names() -> None:
    path, body = placed(objects("app-1")[0], "floor")

    assert path == "/apis/apps/v1/namespaces/floor/deployments/app-1"
    assert body["metadata"]["namespace"] == "floor"
    assert (
        application(
            "app-1",
            "http://git",
        )["spec"]["source"]["path"]
        == "apps/app-1"
    )
