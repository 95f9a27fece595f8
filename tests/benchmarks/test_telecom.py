"""A legal path does what a list says, in its order, and nothing else; where there is none, the nearest one is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.telecom import ACTIONS, DATA, FLOWS, Desk, Difference, gold, legal_paths

from sopwith.ir.procedure import Procedure

LEGAL = Difference((), ())


def flow(start: str, **ways: list[str]) -> Procedure:
    """A flow of these steps; those without ways are ends."""
    steps: dict[str, Any] = {}
    for name in dict.fromkeys((*ways, *(to for targets in ways.values() for to in targets))):
        onward = [{"to": to} for to in ways.get(name, [])]
        steps[name] = {"id": name, **({"next": onward} if onward else {"end": "complete"})}
    return Procedure.from_data({"id": "flow", "start": start, "steps": steps})


DESK = Desk(
    {
        "service_issue": flow(
            "P1_Start",
            P1_Start=["P1_S1_Action_TurnAirplaneOFF", "sim"],
            P1_S1_Action_TurnAirplaneOFF=["End_Resolve", "sim"],
            sim=["P1_S2_Action_ReseatSIM", "End_Escalate_Tech"],
            P1_S2_Action_ReseatSIM=["P1_S3_RestartDevice"],
            P1_S3_RestartDevice=["End_Resolve"],
        ),
        "mobile_data_issue": flow(
            "Start",
            Start=["P2_1_Start"],
            P2_1_Start=["Path1_Reference", "after"],
            after=["P2_1_S3_Action_TurnMobileDataON", "P2_2_Start"],
            P2_1_S3_Action_TurnMobileDataON=["End_Resolve", "P2_2_Start"],
            P2_2_Start=["P2_2_S3_Action_TurnVPNOFF"],
            P2_2_S3_Action_TurnVPNOFF=["End_Resolve"],
        ),
        "mms_issue": flow(
            "P3_Start",
            P3_Start=["Path2_1_Reference", "wifi"],
            wifi=["P3_S4_Action_TurnWifiCallingOFF", "End_Resolve"],
            P3_S4_Action_TurnWifiCallingOFF=["End_Resolve"],
        ),
    }
)


@pytest.mark.parametrize(
    ("issue", "actions"),
    [
        ("service_issue", ["toggle_airplane_mode"]),
        ("service_issue", ["toggle_airplane_mode", "reseat_sim_card", "reboot_device"]),
        ("service_issue", ["transfer_to_human_agents"]),
        ("mobile_data_issue", ["toggle_airplane_mode", "toggle_data", "disconnect_vpn"]),
        ("mms_issue", ["toggle_airplane_mode", "toggle_data", "toggle_wifi_calling"]),
    ],
)
def test_a_list_is_legal_that_some_walk_does(issue: str, actions: list[str]) -> None:
    assert DESK.difference(issue, tuple(actions), ordered=True) == LEGAL


def test_another_order_is_legal_in_some_order_only() -> None:
    actions = ("disconnect_vpn", "toggle_airplane_mode")
    assert DESK.difference("mobile_data_issue", actions, ordered=True) != LEGAL
    assert DESK.difference("mobile_data_issue", actions, ordered=False) == LEGAL


def test_what_the_flow_does_beside_a_list_is_told() -> None:
    found = DESK.difference("service_issue", ("reseat_sim_card",), ordered=True)
    assert found == Difference(("reboot_device",), ())


def test_what_the_flow_cannot_do_is_told() -> None:
    found = DESK.difference("service_issue", ("toggle_airplane_mode", "enable_roaming"), ordered=True)
    assert found == Difference((), ("enable_roaming",))


def test_a_reference_is_walked_through_and_not_past() -> None:
    found = DESK.difference("mobile_data_issue", ("toggle_data",), ordered=True)
    assert found is not None and found != LEGAL, "path 1 does something on each of its ways"


def test_the_train_tasks_are_read_and_permissions_are_one(tmp_path: Path) -> None:
    names = ["grant_app_permission", "grant_app_permission", "reboot_device", "reboot_device"]
    tasks = [
        {"id": f"[mms_issue]{i}", "evaluation_criteria": {"actions": [{"name": name} for name in names]}}
        for i in range(2)
    ]
    (tmp_path / "tasks.json").write_text(json.dumps(tasks), encoding="utf-8")
    (tmp_path / "split_tasks.json").write_text(json.dumps({"train": ["[mms_issue]1"]}), encoding="utf-8")
    assert gold(tmp_path) == [("mms_issue", ("grant_app_permission", "reboot_device", "reboot_device"))]


def test_without_the_data_nothing_is_measured(tmp_path: Path) -> None:
    assert legal_paths(tmp_path) == ([], {})


@pytest.mark.skipif(not (DATA / "tau2").exists(), reason="needs the public benchmark data")
def test_every_step_that_acts_is_in_the_flows() -> None:
    desk = Desk.of(DATA / "tau2" / "telecom")
    steps = {name for procedure in desk.procedures.values() for name in procedure.steps}
    assert set(ACTIONS) <= steps
    assert set(FLOWS) == set(desk.procedures)
