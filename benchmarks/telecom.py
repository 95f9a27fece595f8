"""The three troubleshooting flows of tau2's telecom desk as procedures, and whether its gold actions are paths of them.

A **legal path** for a list of actions is a walk over the steps and edges of the procedures, from the first step of the
flow for the task's issue to an end, that passes steps which do these actions, in the order of the list, and no other
step that does one. Steps that do nothing to the phone or the line (questions, checks, retests) may be passed
anywhere, with any outcome that has an edge. Where a flow says to run another one first, the walk goes through that one
from its beginning until it says that the issue is resolved, and then goes on behind the reference; of path 2.1, run
for its connectivity, the walk also comes back where it would go on to slow data. A list ends where the issue is
resolved, or, if its action is the transfer to a person, where the flow transfers.

The gold lists are sorted by the defects of the task (`airplane_mode_on`, `bad_network_preference`, ...), and the
benchmark that they come from scores them in any order. So two shares are told: lists that are a legal path as they
stand, and lists of which some order is.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

from benchmarks.abcd import DATA
from benchmarks.measure import Measure, rate
from sopwith.ir.procedure import Procedure
from sopwith.lang.read import read

FLOWS = {
    "service_issue": "tech_support_path1_no_service.dot",
    "mobile_data_issue": "tech_support_path2_mobile_data.dot",
    "mms_issue": "tech_support_path3_mms.dot",
}
ACTIONS = {
    "P1_S1_Action_TurnAirplaneOFF": "toggle_airplane_mode",
    "P1_S2_Action_ReseatSIM": "reseat_sim_card",
    "P1_S3_User_Action_ResetAPN": "reset_apn_settings",
    "P1_S3_RestartDevice": "reboot_device",
    "P1_S4_Action_PaymentRequest": "send_payment_request",
    "P1_S4_Action_MakePayment": "make_payment",
    "P1_S4_Action_ResumeLine": "resume_line",
    "P1_S4_Action_Reboot": "reboot_device",
    "P2_1_S2_Action_TurnDataRoamingON": "toggle_roaming",
    "P2_1_S2_Action_EnableRoaming": "enable_roaming",
    "P2_1_S3_Action_TurnMobileDataON": "toggle_data",
    "P2_1_S4_Action_ApplyPlan": "change_plan",
    "P2_1_S4_Action_ApplyRefuel": "refuel_data",
    "P2_2_S1_Action_TurnDataSaverOFF": "toggle_data_saver_mode",
    "P2_2_S2_Action_ChangeNetworkTo5G": "set_network_mode_preference",
    "P2_2_S3_Action_TurnVPNOFF": "disconnect_vpn",
    "P3_S3_Action_ChangeNetworkMode": "set_network_mode_preference",
    "P3_S4_Action_TurnWifiCallingOFF": "toggle_wifi_calling",
    "P3_S5_Action_GrantPermissions": "grant_app_permission",
    "P3_S6_Action_ResetAPN": "reset_apn_settings",
    "End_Escalate_Tech": "transfer_to_human_agents",
}
"""The steps that do something, by their ids in the flows. `grant_app_permission` grants one or both."""

REFERENCES = {
    "Path1_Reference": ("service_issue", "P1_Start"),
    "Path2_1_Reference": ("mobile_data_issue", "P2_1_Start"),
}
_RESOLVED, _TRANSFER, _SLOW_DATA = "End_Resolve", "End_Escalate_Tech", "P2_2_Start"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a walk is: a step of a flow, and the steps behind the references that led here, the last one first."""

    flow: str
    step: str
    back: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """What a flow does that a list does not, and the other way round; empty for a legal path."""

    more: tuple[str, ...]
    less: tuple[str, ...]


class Desk:
    """The flows as procedures."""

    def __init__(self, procedures: dict[str, Procedure]) -> None:
        self.procedures = procedures

    @classmethod
    def of(cls, folder: Path) -> Desk:
        """The flows in `folder`. Raises `ProcedureError` for one that cannot be read."""
        return cls({issue: read(folder / name).procedure for issue, name in FLOWS.items()})

    def onward(self, place: Place) -> list[Place]:
        """The places that can follow."""
        if place.back and place.step in (_RESOLVED, _SLOW_DATA):
            (flow, targets), *rest = place.back
            return [Place(flow, target, tuple(rest)) for target in targets]
        step = self.procedures[place.flow].steps[place.step]
        targets = list(dict.fromkeys(edge.to for edge in (*step.next, *step.on_error)))
        found: list[Place] = []
        for target in targets:
            if target not in REFERENCES:
                found.append(Place(place.flow, target, place.back))
                continue
            behind = tuple(one for one in targets if one not in REFERENCES)
            flow, first = REFERENCES[target]
            found.append(Place(flow, first, ((place.flow, behind), *place.back)))
        # What a reference leads to is reached through it, not past it.
        return [one for one in found if one.flow != place.flow] or found

    def difference(self, issue: str, actions: tuple[str, ...], *, ordered: bool) -> Difference | None:
        """The least that tells the nearest legal path from `actions`; None where no end can be reached."""
        last = _TRANSFER if ACTIONS[_TRANSFER] in actions else _RESOLVED
        wanted = actions if ordered else tuple(sorted(actions))
        start = Place(issue, self.procedures[issue].start)
        queue: list[tuple[int, int, Place, tuple[str, ...], Difference]] = [
            (0, 0, start, wanted, Difference((), ()))
        ]
        seen: set[tuple[Place, tuple[str, ...]]] = set()
        pushed = 0
        while queue:
            cost, _, place, left, told = heappop(queue)
            if (place, left) in seen:
                continue
            seen.add((place, left))
            if place.step == last and (last == _TRANSFER or not place.back):
                rest = tuple(action for action in left if action != ACTIONS.get(last))
                if not rest:
                    return told
                pushed += 1
                less = Difference(told.more, (*told.less, *rest))
                heappush(queue, (cost + len(rest), pushed, place, (), less))
                continue
            for follow in self.onward(place):
                for price, rest, now in _after(follow, left, told, ordered):
                    pushed += 1
                    heappush(queue, (cost + price, pushed, follow, rest, now))
        return None


def _after(
    place: Place, left: tuple[str, ...], told: Difference, ordered: bool
) -> list[tuple[int, tuple[str, ...], Difference]]:
    """What is left of a list after a step: at no price if it does nothing or what comes next."""
    action = ACTIONS.get(place.step)
    if action is None or place.step == _TRANSFER:
        return [(0, left, told)]
    found = [(1, left, Difference((*told.more, action), told.less))]
    if action in (left[:1] if ordered else left):
        at = left.index(action)
        found.append((0, left[:at] + left[at + 1 :], told))
    if ordered and action in left[1:]:
        at = left.index(action)
        found.append((at, left[at + 1 :], Difference(told.more, (*told.less, *left[:at]))))
    return found


def gold(folder: Path) -> list[tuple[str, tuple[str, ...]]]:
    """The issue and the gold actions of each train task; both permissions, granted one after the other, are one."""
    tasks: list[dict[str, Any]] = json.loads((folder / "tasks.json").read_text(encoding="utf-8"))
    train = set(json.loads((folder / "split_tasks.json").read_text(encoding="utf-8"))["train"])
    found: list[tuple[str, tuple[str, ...]]] = []
    for task in tasks:
        if task["id"] not in train:
            continue
        names = [action["name"] for action in task["evaluation_criteria"]["actions"]]
        once = [
            name
            for i, name in enumerate(names)
            if i == 0 or (name, names[i - 1]) != ("grant_app_permission",) * 2
        ]
        found.append((task["id"].partition("]")[0].removeprefix("["), tuple(once)))
    return found


def legal_paths(folder: Path | None = None) -> tuple[list[Measure], Counter[str]]:
    """The shares of gold lists that are legal, and of the others the reasons, counted; nothing without the data."""
    folder = folder or DATA / "tau2" / "telecom"
    if not (folder / "tasks.json").exists():
        return [], Counter()
    desk, lists = Desk.of(folder), gold(folder)
    legal = some_order = 0
    reasons: Counter[str] = Counter()
    for issue, actions in lists:
        ordered = desk.difference(issue, actions, ordered=True)
        legal += ordered == Difference((), ())
        free = desk.difference(issue, actions, ordered=False)
        some_order += free == Difference((), ())
        reasons[_reason(ordered, free)] += 1
    measures = [
        rate("telecom_legal", legal, len(lists)),
        rate("telecom_legal_in_some_order", some_order, len(lists)),
    ]
    return measures, reasons


def _reason(ordered: Difference | None, free: Difference | None) -> str:
    """Why a list is no legal path."""
    if ordered is None or free is None:
        return "no end can be reached"
    if ordered == Difference((), ()):
        return "legal"
    if free == Difference((), ()):
        return "legal in another order"
    more, less = ", ".join(sorted(set(free.more))), ", ".join(sorted(set(free.less)))
    return "; ".join(
        said for said in (more and f"the flow also does {more}", less and f"the flow does no {less}") if said
    )
