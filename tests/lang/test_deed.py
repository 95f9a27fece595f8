"""What a step waits for, calls, goes over and needs leave for, in words."""

from __future__ import annotations

from typing import Any

import pytest

from sopwith.ir.procedure import Step
from sopwith.lang.deed import deed


def step(**fields: Any) -> Step:
    return Step.model_validate({"id": "a", **fields})


@pytest.mark.parametrize(
    ("fields", "en", "zh"),
    [
        ({"wait": {"for": "2d"}}, "wait 2 days", "等待 2 天"),
        ({"wait": {"for": "1h"}, "do": "rest"}, "rest; wait 1 hour", "rest；等待 1 小时"),
        ({"wait": {"for": "${x.days}"}}, "wait `x.days`", "等待 `x.days`"),
        ({"wait": {"until": "2030-01-01T09:00Z"}}, "wait until `2030-01-01T09:00Z`", "等到 `2030-01-01T09:00Z`"),
        ({"wait": {"event": "paid"}, "timeout": 90}, "wait for the event `paid`, for at most 90 seconds",
         "等待事件 `paid`，最多 90 秒"),
        ({"call": {"procedure": "book", "with": {"n": 5, "who": "${a.b}"}}},
         "run the procedure `book` (f.yaml) with n = 5, who = `a.b`",
         "运行流程 `book` (f.yaml)，其中 n 为 5、who 为 `a.b`"),
        ({"each": {"in": "${x.users}", "as": "user"}, "do": "greet", "tool": "t.t"},
         "for each user of `x.users`, greet", "对 `x.users` 中的每个 user，greet"),
        ({"approval": "boss", "tool": "t.t"}, "with the approval of boss", "经 boss 批准后"),
        ({"approval": {"roles": ["a", "b"], "count": 2, "four_eyes": True, "expires": "2h"}, "do": "pay"},
         "pay, with the approval of 2 different people (a or b) other than who asked for it within 2 hours",
         "经 2 位不同的人员（a 或 b）（发起人除外）在 2 小时内批准后，pay"),
        ({"do": "pay"}, "", ""),
    ],
)  # fmt: skip
def test_a_deed_in_words(fields: dict[str, Any], en: str, zh: str) -> None:
    files = {"book": "f.yaml"}
    assert (deed(step(**fields), "en", files), deed(step(**fields), "zh", files)) == (en, zh)
