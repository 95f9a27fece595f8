"""The benchmark of finding counts as it says, on the real data, and its quick run works."""

from __future__ import annotations

import json
import math

import pytest
from benchmarks.catalogues import CATALOGUES, DATA
from benchmarks.finding import ndcg

from benchmarks import finding

needs_data = pytest.mark.skipif(not DATA.exists(), reason="the public data is not here")


def test_the_score_is_ndcg_with_sets_of_equals() -> None:
    a, b, either = frozenset("a"), frozenset("b"), frozenset("xy")
    assert ndcg("ab", [a, b]) == 1
    assert ndcg("xyzab", [either]) == 1
    assert ndcg("za", [a]) == pytest.approx(1 / math.log2(3))
    assert ndcg("xy", [either, a]) == pytest.approx(1 / (1 + 1 / math.log2(3)))
    assert ndcg("zzzzzzzzzza", [a]) == ndcg("", [a]) == 0


@needs_data
@pytest.mark.parametrize(
    ("name", "tools", "queries"),
    [
        ("livemcp", 527, 94),
        ("sealtools", 4076, 1400),
        ("metatool_single", 199, 5000),
        ("metatool_two", 199, 497),
        ("zh", 1697, 817),
    ],
)
def test_the_catalogues_are_read_whole(name: str, tools: int, queries: int) -> None:
    catalogue = CATALOGUES[name]()
    ids = {entry.id for entry in catalogue.entries}
    assert (len(catalogue.entries), len(ids), len(catalogue.queries)) == (tools, tools, queries)
    assert all(query.text and query.relevant for query in catalogue.queries)
    known = [any(id in ids for id in same) for query in catalogue.queries for same in query.relevant]
    assert sum(known) / len(known) > 0.99
    assert abs(sum(query.tuned for query in catalogue.queries) - queries / 2) <= 0.5


@needs_data
def test_a_quick_run_has_every_measure(capsys: pytest.CaptureFixture[str]) -> None:
    finding.main(["--quick", "--json"])
    measures = {one["name"]: one for one in json.loads(capsys.readouterr().out)["measures"]}
    assert {name for name in measures if name.startswith("ndcg10_")} >= {
        f"ndcg10_{name}{more}" for name in CATALOGUES for more in ("", "_lexical")
    }
    assert {"p99_ms_lexical_10k", "p99_ms_hybrid_10k", "build_s_lexical_10k", "p99_ms_hybrid_100k"} <= set(
        measures
    )
    assert all(one["value"] > 0 for name, one in measures.items() if "_pick" not in name)
