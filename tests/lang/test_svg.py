"""An SVG of a procedure: well formed, without scripts, nothing on top of anything else, every word escaped."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest
from hypothesis import given
from tests.lang.strategies import FEW, procedures
from tests.lang.test_drawing import EVERY_LOOK

from sopwith.errors import UserError
from sopwith.ir.procedure import Procedure
from sopwith.lang.drawing import Walk, drawing
from sopwith.lang.placement import LONGEST_WAY, PlacedBox, label_size, place
from sopwith.lang.svg import draw_svg

SVG = "{http://www.w3.org/2000/svg}"


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)


def groups(root: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    return [g for g in root.iter(f"{SVG}g") if kind in g.get("class", "").split()]


def words(element: ElementTree.Element) -> str:
    return " ".join(text.text or "" for text in element.iter(f"{SVG}text"))


def test_looks_differ_in_shape_and_not_by_colour_alone() -> None:
    root = parsed(draw_svg(drawing(EVERY_LOOK, {"bank.pay"})))
    shapes: dict[str, tuple[str, ...]] = {}
    for step in groups(root, "step"):
        parts = [e for e in step if e.tag in (f"{SVG}rect", f"{SVG}polygon", f"{SVG}path")]
        round_ = parts[0].get("rx") == f"{float(parts[0].get('height', 0)) / 2:.1f}"
        shapes[step.get("data-step", "")] = (*(e.tag.removeprefix(SVG) for e in parts), str(round_))
    assert shapes["ask"] == ("polygon", "False")
    assert shapes["look"] == ("rect", "False")
    assert shapes["pay"] == ("rect", "rect", "False")
    assert shapes["all"] == ("rect", "rect", "rect", "False")
    assert shapes["judge"] == ("rect", "path", "False")
    assert shapes["other"] == ("rect", "path", "path", "False")
    assert shapes["wait"] == shapes["person"] == ("rect", "True")
    assert shapes["done"][-1] == "True"


def test_ways_after_an_error_are_dotted_and_no_others() -> None:
    root = parsed(draw_svg(drawing(EVERY_LOOK)))
    for way in groups(root, "way"):
        (line,) = [p for p in way if p.tag == f"{SVG}path"]
        assert ("stroke-dasharray" in line.attrib) is ("error" in way.get("class", ""))


def test_it_is_told_to_whoever_does_not_see_it() -> None:
    root = parsed(draw_svg(drawing(EVERY_LOOK, language="zh"), language="zh"))
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == "title desc"
    assert root.findtext(f"{SVG}title") == "refund 退款"
    assert root.findtext(f"{SVG}desc") == "流程图：10 个步骤，13 条出边"


def test_hostile_words_stay_words() -> None:
    hostile = "</text><script>alert(1)</script> \"&' \x00\x1b[31m \u202e \ud800"
    steps = {
        "a": {"id": "a", "name": hostile, "tool": hostile, "next": [{"to": "b", "judge": hostile}]},
        "b": {"id": "b", "end": "complete"},
    }
    procedure = Procedure.from_data({"id": "p", "name": hostile, "start": "a", "steps": {}}).model_copy(
        update={"steps": Procedure.from_data({"id": "p", "start": "a", "steps": steps}).steps}
    )
    text = draw_svg(drawing(procedure))
    root = parsed(text)
    text.encode("utf-8")
    assert not list(root.iter(f"{SVG}script"))
    assert "</text><script>alert(1)" in "".join(t.text or "" for t in root.iter(f"{SVG}title"))
    assert not re.search("[\x00-\x08\x1b\u202e]", text)


def test_nothing_is_fetched_and_nothing_runs() -> None:
    text = draw_svg(drawing(EVERY_LOOK))
    assert not re.search(r"<script|\bon\w+=|href|url\(|@import|<style|<image", text)


def test_the_path_of_a_run_is_marked_in_the_order_of_its_visits() -> None:
    walk = Walk(
        {"look": (1, 4), "judge": (2,), "ask": (3,), "wait": (5,)},
        {
            ("look", False, 0): (1,),
            ("judge", False, 0): (2,),
            ("ask", False, 1): (3,),
            ("look", False, 2): (4,),
        },
    )
    root = parsed(draw_svg(drawing(EVERY_LOOK), walk))
    badges = {
        s.get("data-step"): words(s.findall(f"{SVG}g")[-1])
        for s in groups(root, "step")
        if s.findall(f"{SVG}g")
    }
    assert badges == {"look": "1, 4", "judge": "2", "ask": "3", "wait": "5"}
    faded = {s.get("data-step") for s in groups(root, "step") if s.get("opacity")}
    assert faded == set(EVERY_LOOK.steps) - set(walk.visits)
    taken = [w for w in groups(root, "way") if not w.get("opacity")]
    assert len(taken) == 1 + len(walk.taken)
    assert (root.findtext(f"{SVG}desc") or "").endswith("look → judge → ask → look → wait")


@FEW
@given(procedures())
def test_any_procedure_gives_a_picture_in_which_no_boxes_overlap(procedure: Procedure) -> None:
    found = drawing(procedure)
    root = parsed(draw_svg(found))
    assert [g.get("data-step") for g in groups(root, "step")] == [b.step for b in found.boxes]
    assert len(groups(root, "way")) == len(found.arrows) + 1
    placed = place(found)
    rows = sorted(placed.boxes, key=lambda b: b.centre)
    assert not [(a.box.step, b.box.step) for i, a in enumerate(rows) for b in rows[i + 1 :] if overlap(a, b)]
    for arrow in placed.arrows:
        assert (arrow.label_at is not None) == bool(arrow.label)
        if arrow.label_at is not None:
            (x, y), (w, h) = arrow.label_at, label_size(arrow.label)
            assert x - w / 2 >= -1 and x + w / 2 <= placed.size[0] + 1
            assert y - h / 2 >= -1 and y + h / 2 <= placed.size[1] + 1


def overlap(one: PlacedBox, other: PlacedBox) -> bool:
    return all(abs(one.centre[i] - other.centre[i]) + 0.5 < (one.size[i] + other.size[i]) / 2 for i in (0, 1))


def test_a_way_over_many_rows_ends_in_a_signpost() -> None:
    count = LONGEST_WAY + 3
    steps = {
        f"s{i}": {
            "id": f"s{i}",
            "tool": "t",
            "next": [{"to": f"s{i + 1}"}],
            "on_error": [{"to": f"s{count}"}],
        }
        for i in range(count)
    } | {f"s{count}": {"id": f"s{count}", "name": "人工", "end": "escalate"}}
    found = drawing(Procedure.from_data({"id": "p", "start": "s0", "steps": steps}))
    root = parsed(draw_svg(found))
    posts = groups(root, "signpost")
    assert len(posts) == sum(arrow.span > LONGEST_WAY for arrow in found.arrows) == 3
    assert {words(post) for post in posts} == {f"→ {count + 1} · 人工"}
    tops = [b.centre[1] for b in place(found).boxes]
    assert all(above < below for above, below in pairwise(tops))


def test_without_the_library_the_remedy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pygraphviz", None)
    with pytest.raises(UserError) as raised:
        draw_svg(drawing(EVERY_LOOK))
    assert "sopwith[draw]" in raised.value.hint.en
