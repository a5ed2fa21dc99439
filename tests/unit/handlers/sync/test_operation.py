"""The operation is tested as it lives: a driver does what it says, the world answers anything."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bus.identity import ResourceKey, Revision
from bus.status import OperationPhase, ResultStatus
from handlers.application.revisions import Revisions
from handlers.application.spec import Backoff, InitiatedBy, Operation, RetryStrategy
from handlers.application.status import OperationState
from handlers.sync.move import Act, Done, Finish, Move, OperationView, Restart, RetryDelay, Wait
from handlers.sync.operation import TERMINATED, next_move, retry_at
from handlers.sync.operation_info import operation_id
from handlers.sync.operation_results import READY, ObjectProgress, ProgressState, result
from handlers.sync.operation_transitions import (
    begun,
    finished,
    held,
    is_superseded,
    repinned,
    restarted,
    superseded,
    waits_for_retry,
    was_held,
    with_results,
)
from handlers.sync.sync_plan import SyncAction, SyncStep, SyncTask, plan
from tests.unit.handlers.application.builders import application

NOW = datetime(2026, 1, 1, tzinfo=UTC)
REVISION = Revision("a" * 40)
REVISIONS = Revisions(REVISION)
WAITING, FAILED = (
    ObjectProgress(ProgressState.WAITING),
    ObjectProgress(ProgressState.FAILED, "crashes"),
)


def task(name: str, wave: int = 0, action: SyncAction = SyncAction.APPLY) -> SyncTask:
    return SyncTask(action=action, key=ResourceKey("", "ConfigMap", "shop", name), wave=wave)


def start(retry: int = 0) -> OperationState:
    operation = Operation(retry=RetryStrategy(limit=retry))
    return begun(application(), operation, REVISIONS, NOW)


def view(
    *tasks: SyncTask, progress: Mapping[ResourceKey, ObjectProgress] | None = None
) -> OperationView:
    return OperationView(steps=plan(tasks), progress=progress or {}, now=NOW)


def done(state: OperationState, *tasks: SyncTask, failed: bool = False) -> OperationState:
    status = ResultStatus.SYNC_FAILED if failed else ResultStatus.SYNCED
    return with_results(state, [result(one, status, "said") for one in tasks])


A, B = task("a", 0), task("b", 1)


def test_the_first_wave_is_applied_first() -> None:
    move = next_move(start(), view(A, B))
    assert isinstance(move, Act)
    assert move.tasks == (A,)


def test_the_next_wave_waits_for_the_health_of_the_one_before() -> None:
    move = next_move(done(start(), A), view(A, B, progress={A.key: WAITING}))
    assert move == Wait("waiting for healthy state of ConfigMap/a")


def test_the_next_wave_follows_when_the_one_before_is_healthy() -> None:
    move = next_move(done(start(), A), view(A, B))
    assert isinstance(move, Act)
    assert move.tasks == (B,)


def test_the_last_wave_ends_the_operation_without_waiting() -> None:
    move = next_move(done(start(), A, B), view(A, B, progress={B.key: WAITING}))
    assert isinstance(move, Finish)
    assert move.phase is OperationPhase.SUCCEEDED


def test_an_unhealthy_wave_fails_the_operation() -> None:
    move = next_move(done(start(), A), view(A, B, progress={A.key: FAILED}))
    assert isinstance(move, Finish)
    assert (move.phase, "crashes" in move.message) == (OperationPhase.FAILED, True)


def test_a_rejected_object_fails_the_operation_after_the_others_of_its_wave() -> None:
    other = task("c", 0)
    state = done(start(), A, failed=True)
    untried = next_move(state, view(A, other, B))
    assert isinstance(untried, Act)
    assert untried.tasks == (other,)
    end = next_move(done(state, other), view(A, other, B))
    assert isinstance(end, Finish)
    assert "ConfigMap a: said" in end.message


def test_what_is_pruned_is_waited_for_before_the_next_wave() -> None:
    gone = task("old", 0, SyncAction.PRUNE)
    later = task("older", 1, SyncAction.PRUNE)
    first = plan([gone, later])[0].tasks[0]
    state = with_results(start(), [result(first, ResultStatus.PRUNED, "pruned")])
    move = next_move(state, view(gone, later, progress={first.key: WAITING}))
    assert isinstance(move, Wait)
    assert move.message.startswith("waiting for deletion of")


def test_terminating_ends_at_once_and_is_not_tried_again() -> None:
    state = replace(start(retry=5), phase=OperationPhase.TERMINATING)
    move = next_move(state, view(A, B))
    assert move == Finish(OperationPhase.FAILED, TERMINATED)
    assert finished(state, move, NOW).phase == OperationPhase.FAILED


def test_a_failed_operation_is_tried_again_after_its_back_off() -> None:
    state = finished(start(retry=1), Finish(OperationPhase.FAILED, "refused"), NOW)
    assert (state.phase, state.retry_count) == (OperationPhase.RUNNING, 1)
    assert next_move(state, view(A)) == RetryDelay(10.0)
    assert retry_at(state) == NOW + timedelta(seconds=10)
    later = OperationView(steps=plan([A]), now=NOW + timedelta(seconds=10))
    assert next_move(state, later) == Restart()


def test_what_is_blocked_neither_acts_nor_tries_again() -> None:
    blocked = replace(view(A), blocked="a window is closed")
    assert next_move(start(), blocked) == Wait("a window is closed")
    failed = finished(start(retry=1), Finish(OperationPhase.FAILED, "refused"), NOW)
    later = replace(blocked, now=NOW + timedelta(seconds=10))
    assert next_move(failed, later) == Wait("a window is closed")


def test_what_is_blocked_ends_all_the_same() -> None:
    blocked = replace(view(A), blocked="a window is closed")
    assert isinstance(next_move(done(start(), A), blocked), Finish)
    terminated = replace(start(), phase=OperationPhase.TERMINATING)
    assert next_move(terminated, blocked) == Finish(OperationPhase.FAILED, TERMINATED)


def test_what_another_try_cannot_mend_is_not_tried_again() -> None:
    state = finished(start(retry=5), Finish(OperationPhase.FAILED, "refused", final=True), NOW)
    assert (state.phase, state.message) == (OperationPhase.FAILED, "refused")


def test_retries_end_at_their_limit() -> None:
    end = Finish(OperationPhase.FAILED, "refused")
    state = finished(restarted(finished(start(retry=1), end, NOW)), end, NOW)
    assert (state.phase, state.message) == (OperationPhase.FAILED, "refused (after 1 retries)")


def test_a_retry_starts_with_nothing_done_and_the_same_revision() -> None:
    failed = finished(done(start(retry=1), A), Finish(OperationPhase.FAILED, "refused"), NOW)
    again = restarted(failed)
    assert again.sync_result is not None
    assert (again.sync_result.resources, again.sync_result.revision) == ((), REVISION)


def test_a_retry_with_refresh_asks_for_the_newest_revision() -> None:
    operation = Operation(retry=RetryStrategy(limit=1, refresh=True))
    again = restarted(begun(application(), operation, REVISIONS, NOW))
    assert again.operation.sync is not None
    assert again.operation.sync.revision == ""
    assert repinned(again, REVISIONS, application().spec) == begun(
        application(), operation, REVISIONS, NOW
    )


def test_only_an_automated_retry_of_an_older_revision_is_superseded() -> None:
    newer = Revisions(Revision("b" * 40))
    by_policy = Operation(retry=RetryStrategy(limit=1), initiated_by=InitiatedBy(automated=True))
    running = begun(application(), by_policy, REVISIONS, NOW)
    end = Finish(OperationPhase.FAILED, "refused")
    waits = finished(running, end, NOW)
    assert is_superseded(waits, newer)
    assert not is_superseded(waits, REVISIONS)
    assert not is_superseded(running, newer)
    assert not is_superseded(finished(start(retry=1), end, NOW), newer)
    assert superseded(waits, newer).message == "refused; superseded by bbbbbbb"


def test_the_end_of_an_operation_says_that_a_hold_was_its_reason() -> None:
    by_policy = Operation(retry=RetryStrategy(limit=1), initiated_by=InitiatedBy(automated=True))
    running = begun(application(), by_policy, REVISIONS, NOW)
    waits = finished(running, Finish(OperationPhase.FAILED, "refused"), NOW)
    ended = held(waits, "a window")
    assert waits_for_retry(waits)
    assert (ended.phase, waits_for_retry(ended)) == (OperationPhase.FAILED, False)
    assert ended.message == "refused; not tried again while it is held: a window"
    assert was_held(ended)
    assert was_held(replace(ended, message="in other words"))
    assert not was_held(superseded(waits, Revisions(Revision("b" * 40))))


def test_a_hold_that_an_earlier_version_wrote_is_known_by_its_message() -> None:
    message = "refused; not tried again while it is held: a window"
    ended = finished(start(), Finish(OperationPhase.FAILED, message, final=True), NOW)
    assert was_held(ended)
    assert not was_held(replace(ended, message="a window"))


def test_an_operation_keeps_the_id_of_its_command() -> None:
    operation = Operation(info=({"name": "commandId", "value": "c1"},))
    state = begun(application(), operation, REVISIONS, NOW)
    assert operation_id(state) == "c1"
    assert operation_id(start()) == operation_id(done(start(), A)) != ""


# --- every order of events --------------------------------------------------------------------

TASKS = st.lists(
    st.builds(
        task,
        st.sampled_from("abcdef"),
        st.integers(-1, 2),
        st.sampled_from(SyncAction),
    ),
    unique_by=lambda one: one.key,
    max_size=6,
)
STANDS = st.sampled_from([READY, READY, READY, WAITING, FAILED])


class SimulatedMachine:
    """Does what the machine says; hypothesis chooses what the cluster answers."""

    def __init__(self, data: st.DataObject, tasks: list[SyncTask], state: OperationState) -> None:
        self.data, self.steps, self.state = data, plan(tasks), state
        self.now, self.acted = NOW, list[SyncStep]()
        self.progress: dict[ResourceKey, ObjectProgress] = {}

    def run(self) -> None:
        """Every Wait is answered, sooner or later, by an object that is ready or failed."""
        for _ in range(200):
            self.state = _through_the_wire(self.state)
            move = next_move(
                self.state, OperationView(steps=self.steps, progress=self.progress, now=self.now)
            )
            if isinstance(move, Done):
                return
            self.do(move)
        raise AssertionError(f"did not end: {self.state}")

    def do(self, move: Move) -> None:
        match move:
            case Act():
                self.act(move)
            case Wait():
                self.settle()
            case RetryDelay():
                self.now += timedelta(seconds=move.seconds)
            case Restart():
                self.acted.clear()
                self.progress.clear()
                self.state = restarted(self.state)
            case Finish():
                self.state = finished(self.state, move, self.now)
            case Done():
                pass

    def act(self, move: Act) -> None:
        for before in self.acted:
            assert all(self.progress[one.key].state is ProgressState.READY for one in before.tasks)
        if self.data.draw(st.booleans(), label="killed before the state was written"):
            return
        self.acted.append(move.step)
        statuses = st.sampled_from([ResultStatus.SYNCED] * 9 + [ResultStatus.SYNC_FAILED])
        drawn = [(one, self.data.draw(statuses)) for one in move.tasks]
        self.state = with_results(self.state, [result(one, status, "") for one, status in drawn])
        self.progress |= {one.key: self.data.draw(STANDS) for one in move.tasks}

    def settle(self) -> None:
        waiting = [
            key for key, found in self.progress.items() if found.state is ProgressState.WAITING
        ]
        assert waiting, "waits for nothing"
        self.progress[self.data.draw(st.sampled_from(waiting))] = self.data.draw(
            st.sampled_from([READY, FAILED])
        )


def _through_the_wire(state: OperationState) -> OperationState:
    """A restart at any point: what is known is what was written."""
    return msgspec.json.decode(msgspec.json.encode(state), type=OperationState)


@given(st.data(), TASKS, st.integers(0, 2))
def test_it_ends_whatever_the_cluster_does_and_never_enters_a_wave_too_early(
    data: st.DataObject, tasks: list[SyncTask], retries: int
) -> None:
    cluster = SimulatedMachine(data, tasks, start(retries))
    cluster.run()
    assert OperationPhase(cluster.state.phase).completed
    assert cluster.state.retry_count <= retries
    if cluster.state.phase == OperationPhase.SUCCEEDED and cluster.state.sync_result:
        tried = {one.key for one in cluster.state.sync_result.resources}
        assert tried == {one.key for one in tasks}


@given(st.data(), TASKS, st.integers(0, 5))
def test_terminate_ends_it_from_any_state(
    data: st.DataObject, tasks: list[SyncTask], moves: int
) -> None:
    cluster = SimulatedMachine(data, tasks, start(retry=2))
    for _ in range(moves):
        move = next_move(
            cluster.state, OperationView(steps=cluster.steps, progress=cluster.progress, now=NOW)
        )
        cluster.do(move)
    if OperationPhase(cluster.state.phase).completed:
        return
    cluster.state = replace(cluster.state, phase=OperationPhase.TERMINATING)
    cluster.run()
    assert (cluster.state.phase, cluster.state.message[: len(TERMINATED)]) == (
        OperationPhase.FAILED,
        TERMINATED,
    )


def test_a_back_off_that_cannot_be_read_ends_the_operation() -> None:
    retry = RetryStrategy(limit=3, backoff=Backoff(duration="soon"))
    state = begun(application(), Operation(retry=retry), REVISIONS, NOW)
    end = finished(state, Finish(OperationPhase.FAILED, "refused"), NOW)
    assert end.phase == OperationPhase.ERROR
    assert "refused; failed to retry: retry.backoff.duration: 'soon'" in end.message
    assert end.retry_count == 0


def test_what_an_operation_says_of_itself_is_carried_through() -> None:
    note = {"name": "reason", "value": "release 7"}
    state = begun(application(), Operation(info=(note,)), REVISIONS, NOW)
    assert note in state.operation.info
    assert note in finished(state, Finish(OperationPhase.SUCCEEDED, "done"), NOW).operation.info
