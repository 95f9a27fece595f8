"""A guideline becomes a draft, and what of it is not read has a reason."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.abcd import draft_of, flows, reasons, share

PLAIN = {
    "instructions": ["Ask for the reason."],
    "actions": [
        {"button": "Pull up Account", "text": "Get the name for [Pull up Account]", "subtext": ["Full name > or id"]},
        {"button": "N/A", "text": "Tell the customer", "subtext": []},
    ],
}  # fmt: skip
DOUBTFUL = {
    "instructions": [],
    "actions": [{"button": "N/A", "text": "Refund it if the order is late", "subtext": []}],
}


def test_a_guideline_is_a_numbered_list_with_tools_and_remarks() -> None:
    assert draft_of("Returns", PLAIN) == (
        "# Returns\n\nAsk for the reason.\n\n1. Get the name for Pull up Account, using the pull_up_account tool\n"
        "   - Full name\n     - or id\n2. Tell the customer\n"
    )


def test_flows_are_read_or_have_reasons(tmp_path: Path) -> None:
    file = tmp_path / "guidelines.json"
    file.write_text(json.dumps({"Orders": {"subflows": {"Returns": PLAIN, "Late": DOUBTFUL}}}), "utf-8")
    found = flows(file)
    assert [(flow.name, flow.read, flow.steps) for flow in found] == [
        ("Orders: Returns", True, 2),
        ("Orders: Late", False, 1),
    ]
    assert (share(found), reasons(found)) == ((1, 2), {"SW714": 1})
