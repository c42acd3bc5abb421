"""A memory of limited size."""

from __future__ import annotations

from collections import OrderedDict

from hypothesis import given
from hypothesis import strategies as st

from octavo.search.cache import LRUCache


def test_what_was_put_is_there_until_there_is_no_room() -> None:
    memory: LRUCache[int] = LRUCache(most=2)
    memory.put("a", 1)
    memory.put("b", 2)
    assert (memory.get("a"), memory.get("b"), memory.get("c")) == (1, 2, None)
    memory.put("c", 3)
    assert (memory.get("a"), memory.get("b"), memory.get("c")) == (None, 2, 3)


def test_what_was_used_longest_ago_is_forgotten_first() -> None:
    memory: LRUCache[int] = LRUCache(most=2)
    memory.put("a", 1)
    memory.put("b", 2)
    assert memory.get("a") == 1
    memory.put("c", 3)
    assert (memory.get("a"), memory.get("b")) == (1, None)


def test_a_value_that_counts_as_false_is_remembered_too() -> None:
    memory: LRUCache[tuple[int, ...]] = LRUCache(most=1)
    memory.put("a", ())
    assert memory.get("a") == ()


def test_putting_a_key_again_takes_no_more_room_and_keeps_it_longer() -> None:
    memory: LRUCache[int] = LRUCache(most=2)
    for key, value in (("a", 1), ("b", 2), ("a", 3), ("c", 4)):
        memory.put(key, value)
    assert (memory.get("a"), memory.get("b"), memory.get("c")) == (3, None, 4)


def test_values_that_are_measured_have_a_size_together() -> None:
    memory: LRUCache[bytes] = LRUCache(most=10, measure=len)
    for key, size in (("a", 4), ("b", 4), ("c", 2), ("a", 6)):
        memory.put(key, bytes(size))
    assert [memory.get(key) is not None for key in "abc"] == [True, False, True]
    memory.put("d", bytes(11))
    assert [memory.get(key) for key in "abcd"] == [None] * 4
    memory.put("e", bytes(10))
    assert memory.get("e") == bytes(10)


steps = st.lists(st.tuples(st.booleans(), st.sampled_from("abcdef"), st.integers(0, 9)), max_size=40)


@given(steps, st.integers(1, 4))
def test_it_holds_the_last_used_and_no_more(taken: list[tuple[bool, str, int]], most: int) -> None:
    memory: LRUCache[int] = LRUCache(most=most)
    model: OrderedDict[str, int] = OrderedDict()
    for put, key, value in taken:
        if put:
            memory.put(key, value)
            model.pop(key, None)
            model[key] = value
            while len(model) > most:
                model.popitem(last=False)
        else:
            assert memory.get(key) == model.get(key)
            if key in model:
                model.move_to_end(key)
    assert {key: memory.get(key) for key in model} == model
