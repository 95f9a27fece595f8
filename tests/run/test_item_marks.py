"""What a list remembers of its items, so as not to look for it from the start, is what a look from the start finds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sopwith.ir.tool import ErrorData
from sopwith.run.state import Cursor, Items

COUNT = 6
FRESH = Cursor("pay", 1, 0)
KINDS = {
    "begun": FRESH,
    "away": FRESH.changed(child="c"),
    "acting": FRESH.changed(started=7),
    "done": FRESH.changed(done=True),
    "checked": FRESH.changed(done=True, checked=True),
    "refuted": FRESH.changed(done=True, checked=False),
    "failed": FRESH.changed(failed=ErrorData(code="x", message="x")),
}
THROUGH = ("done", "checked", "refuted", "failed")


@given(st.lists(st.tuples(st.integers(0, COUNT - 1), st.sampled_from(sorted(KINDS))), max_size=40))
def test_the_marks_are_what_a_look_from_the_start_finds(changes: list[tuple[int, str]]) -> None:
    items, kinds = Items("pay", COUNT), dict[int, str]()
    for item, kind in changes:
        items, kinds[item] = items.with_cursor(KINDS[kind].changed(item=item), item), kind
        failed = [at for at, one in kinds.items() if one == "failed"]
        assert items.broken == min(failed, default=None)
        assert all(kinds.get(at) in THROUGH for at in range(items.through))
        assert all(kinds.get(at) in ("checked", "failed") for at in range(items.checked))
        at_work = {at for at, one in kinds.items() if one not in THROUGH}
        assert at_work <= {at for at, _ in items.cursors.since(items.through)}


def test_items_that_are_done_in_any_order_are_all_passed() -> None:
    items = Items("pay", COUNT)
    for item in reversed(range(COUNT)):
        items = items.with_cursor(KINDS["checked"].changed(item=item), item)
    assert (items.through, items.checked) == (COUNT, COUNT)
