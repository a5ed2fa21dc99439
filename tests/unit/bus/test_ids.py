import uuid

from hypothesis import given
from hypothesis import strategies as st

from bus.identity import derived_id, new_id


def test_new_ids_are_uuids_of_version_7_and_sort_by_time() -> None:
    ids = [new_id() for _ in range(100)]
    assert all(uuid.UUID(text).version == 7 for text in ids)
    assert all(uuid.UUID(text).variant == uuid.RFC_4122 for text in ids)
    assert [text[:13] for text in ids] == sorted(text[:13] for text in ids)
    assert len(set(ids)) == 100


@given(st.text(), st.text())
def test_a_derived_id_is_the_same_for_the_same_seed_only(one: str, other: str) -> None:
    assert uuid.UUID(derived_id(one)).version == 8
    assert (derived_id(one) == derived_id(other)) is (one == other)
