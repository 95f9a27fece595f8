"""Words for dates, seen from around 25 November 2026: exactly the day that they pin, or a typed error."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopwith.tools import ToolError, load_module

(resolve_period,) = load_module(Path(__file__).parents[2] / "examples" / "leave" / "period.py")

MONDAY, WEDNESDAY, FRIDAY, SUNDAY = "2026-11-23", "2026-11-25", "2026-11-27", "2026-11-29"

DAYS_ZH = [
    ("今天", WEDNESDAY, "2026-11-25"),
    ("明天", WEDNESDAY, "2026-11-26"),
    ("后天", WEDNESDAY, "2026-11-27"),
    ("大后天", MONDAY, "2026-11-26"),
    ("两天后", WEDNESDAY, "2026-11-27"),
    ("5天之后", WEDNESDAY, "2026-11-30"),
    ("下周一", MONDAY, "2026-11-30"),
    ("下周一", WEDNESDAY, "2026-11-30"),
    ("下周一", SUNDAY, "2026-11-30"),
    ("下周三", SUNDAY, "2026-12-02"),
    ("下星期三", WEDNESDAY, "2026-12-02"),
    ("下個禮拜三", WEDNESDAY, "2026-12-02"),
    ("下个星期三", WEDNESDAY, "2026-12-02"),
    ("下礼拜五", WEDNESDAY, "2026-12-04"),
    ("下下周二", WEDNESDAY, "2026-12-08"),
    ("这周五", WEDNESDAY, "2026-11-27"),
    ("本周五", WEDNESDAY, "2026-11-27"),
    ("周五", WEDNESDAY, "2026-11-27"),
    ("星期四", WEDNESDAY, "2026-11-26"),
    ("周一", WEDNESDAY, "2026-11-30"),
    ("12月21日", WEDNESDAY, "2026-12-21"),
    ("十二月二十一号", WEDNESDAY, "2026-12-21"),
    ("十二月十日", WEDNESDAY, "2026-12-10"),
    ("2026年12月21日", WEDNESDAY, "2026-12-21"),
    ("２０２６年１２月２１日", WEDNESDAY, "2026-12-21"),
    ("二〇二六年十二月二十一日", WEDNESDAY, "2026-12-21"),
    ("1月4号", WEDNESDAY, "2027-01-04"),
    ("明年1月5日", WEDNESDAY, "2027-01-05"),
    ("今年12月21日", WEDNESDAY, "2026-12-21"),
    ("11月25日", WEDNESDAY, "2026-11-25"),
    ("30号", WEDNESDAY, "2026-11-30"),
    ("3号", WEDNESDAY, "2026-12-03"),
    ("下个月1号", WEDNESDAY, "2026-12-01"),
    ("下月3号", WEDNESDAY, "2026-12-03"),
    ("本月最后一天", WEDNESDAY, "2026-11-30"),
    ("从下周一开始", WEDNESDAY, "2026-11-30"),
    ("12月21日起", WEDNESDAY, "2026-12-21"),
    ("12月21日（周一）", WEDNESDAY, "2026-12-21"),
    ("明天上午", WEDNESDAY, "2026-11-26"),
]

DAYS_EN = [
    ("today", WEDNESDAY, "2026-11-25"),
    ("Tomorrow", WEDNESDAY, "2026-11-26"),
    ("the day after tomorrow", WEDNESDAY, "2026-11-27"),
    ("in two days", WEDNESDAY, "2026-11-27"),
    ("5 days from now", WEDNESDAY, "2026-11-30"),
    ("next Monday", MONDAY, "2026-11-30"),
    ("next Monday", WEDNESDAY, "2026-11-30"),
    ("next monday", SUNDAY, "2026-11-30"),
    ("next Wednesday", WEDNESDAY, "2026-12-02"),
    ("this Friday", WEDNESDAY, "2026-11-27"),
    ("on Friday", WEDNESDAY, "2026-11-27"),
    ("Fri", WEDNESDAY, "2026-11-27"),
    ("Monday", WEDNESDAY, "2026-11-30"),
    ("this coming Thursday", WEDNESDAY, "2026-11-26"),
    ("Friday next week", WEDNESDAY, "2026-12-04"),
    ("Wednesday of next week", WEDNESDAY, "2026-12-02"),
    ("next week's Tuesday", WEDNESDAY, "2026-12-01"),
    ("December 21", WEDNESDAY, "2026-12-21"),
    ("Dec 21st", WEDNESDAY, "2026-12-21"),
    ("the 21st of December", WEDNESDAY, "2026-12-21"),
    ("21 Dec 2026", WEDNESDAY, "2026-12-21"),
    ("December 21, 2026", WEDNESDAY, "2026-12-21"),
    ("January 4", WEDNESDAY, "2027-01-04"),
    ("Monday, December 21", WEDNESDAY, "2026-12-21"),
    ("2026-12-21", WEDNESDAY, "2026-12-21"),
    ("2026/12/21", WEDNESDAY, "2026-12-21"),
    ("2026-03-04", "2026-03-02", "2026-03-04"),
    ("12/21", WEDNESDAY, "2026-12-21"),
    ("21/12/2026", WEDNESDAY, "2026-12-21"),
    ("11/11", "2026-11-02", "2026-11-11"),
    ("the 30th", WEDNESDAY, "2026-11-30"),
    ("the first of next month", WEDNESDAY, "2026-12-01"),
    ("last day of the month", WEDNESDAY, "2026-11-30"),
    ("tomorrow morning", WEDNESDAY, "2026-11-26"),
    ("starting Monday", WEDNESDAY, "2026-11-30"),
]

LENGTHS = [
    ("半天", 0.5, "2026-11-30"),
    ("一个下午", 0.5, "2026-11-30"),
    ("一天", 1, "2026-11-30"),
    ("一整天", 1, "2026-11-30"),
    ("一天半", 1.5, "2026-12-01"),
    ("1.5天", 1.5, "2026-12-01"),
    ("两天", 2, "2026-12-01"),
    ("请3天假", 3, "2026-12-02"),
    ("三个工作日", 3, "2026-12-02"),
    ("一周", 5, "2026-12-04"),
    ("六天", 6, "2026-12-07"),
    ("两个星期", 10, "2026-12-11"),
    ("十二天", 12, "2026-12-15"),
    ("half a day", 0.5, "2026-11-30"),
    ("a half day", 0.5, "2026-11-30"),
    ("the morning", 0.5, "2026-11-30"),
    ("a day", 1, "2026-11-30"),
    ("all day", 1, "2026-11-30"),
    ("a day and a half", 1.5, "2026-12-01"),
    ("two and a half days", 2.5, "2026-12-02"),
    ("two days off", 2, "2026-12-01"),
    ("for three days", 3, "2026-12-02"),
    ("5 working days", 5, "2026-12-04"),
    ("a week", 5, "2026-12-04"),
    ("two weeks", 10, "2026-12-11"),
]

RANGES = [
    ("12月21日到23日", "", "2026-12-21", "2026-12-23", 3),
    ("12月21日到23日", "三天", "2026-12-21", "2026-12-23", 3),
    ("12月21日到23日", "12月21日到23日", "2026-12-21", "2026-12-23", 3),
    ("12月21日", "到23日", "2026-12-21", "2026-12-23", 3),
    ("12月21日", "12月21日到23日", "2026-12-21", "2026-12-23", 3),
    ("12月21-23日", "", "2026-12-21", "2026-12-23", 3),
    ("12月21日至12月28日", "", "2026-12-21", "2026-12-28", 6),
    ("12月30日到1月4日", "", "2026-12-30", "2027-01-04", 4),
    ("下周一到周三", "", "2026-11-30", "2026-12-02", 3),
    ("从下周一到下周三", "3天", "2026-11-30", "2026-12-02", 3),
    ("明天到后天", "", "2026-11-26", "2026-11-27", 2),
    ("12月21日，半天", "", "2026-12-21", "2026-12-21", 0.5),
    ("12月21日两天", "", "2026-12-21", "2026-12-22", 2),
    ("Dec 21-23", "", "2026-12-21", "2026-12-23", 3),
    ("21-23 December", "", "2026-12-21", "2026-12-23", 3),
    ("December 21 to 23", "3 days", "2026-12-21", "2026-12-23", 3),
    ("from Dec 21 to Dec 23", "", "2026-12-21", "2026-12-23", 3),
    ("2026-12-21 to 2026-12-23", "", "2026-12-21", "2026-12-23", 3),
    ("Monday to Wednesday", "", "2026-11-30", "2026-12-02", 3),
    ("next Monday", "until Wednesday", "2026-11-30", "2026-12-02", 3),
    ("Dec 21, half a day", "", "2026-12-21", "2026-12-21", 0.5),
]

REFUSED = [
    ("", "一天", WEDNESDAY, "unresolved"),
    ("  ", "1 day", WEDNESDAY, "unresolved"),
    ("随便", "一天", WEDNESDAY, "ambiguous"),
    ("下周", "一天", WEDNESDAY, "ambiguous"),
    ("下个月", "一天", WEDNESDAY, "ambiguous"),
    ("3月", "一天", WEDNESDAY, "ambiguous"),
    ("月底", "一天", WEDNESDAY, "ambiguous"),
    ("下月初", "一天", WEDNESDAY, "ambiguous"),
    ("周末", "一天", WEDNESDAY, "ambiguous"),
    ("两周后", "一天", WEDNESDAY, "ambiguous"),
    ("过几天", "一天", WEDNESDAY, "ambiguous"),
    ("明后天", "一天", WEDNESDAY, "ambiguous"),
    ("下周一或下周二", "一天", WEDNESDAY, "ambiguous"),
    ("周三", "一天", WEDNESDAY, "ambiguous"),
    ("明天下午", "一天", WEDNESDAY, "ambiguous"),
    ("不是明天", "一天", WEDNESDAY, "unresolved"),
    ("大概明天", "一天", WEDNESDAY, "unresolved"),
    ("国庆节", "一天", WEDNESDAY, "unresolved"),
    ("2月30日", "一天", WEDNESDAY, "unresolved"),
    ("13月1日", "一天", WEDNESDAY, "unresolved"),
    ("31号", "一天", WEDNESDAY, "unresolved"),
    ("昨天", "一天", WEDNESDAY, "past"),
    ("本周一", "一天", WEDNESDAY, "past"),
    ("上周五", "一天", WEDNESDAY, "past"),
    ("24号", "一天", WEDNESDAY, "past"),
    ("11月24日", "一天", WEDNESDAY, "past"),
    ("12月20日", "一天", "2027-01-05", "past"),
    ("本周五", "一天", SUNDAY, "past"),
    ("12月20日", "一天", WEDNESDAY, "not_a_working_day"),
    ("12月20日到22日", "", WEDNESDAY, "not_a_working_day"),
    ("12月25日到26日", "", WEDNESDAY, "not_a_working_day"),
    ("下周六", "半天", WEDNESDAY, "not_a_working_day"),
    ("12月22日周一", "一天", WEDNESDAY, "contradictory"),
    ("12月21日到23日", "一天", WEDNESDAY, "contradictory"),
    ("12月23日到21日", "", WEDNESDAY, "contradictory"),
    ("12月22日", "12月21日到23日", WEDNESDAY, "contradictory"),
    ("30号到2号", "", WEDNESDAY, "contradictory"),
    ("2029年1月8日", "一天", WEDNESDAY, "too_far"),
    ("明天", "", WEDNESDAY, "unresolved"),
    ("明天", "几天", WEDNESDAY, "ambiguous"),
    ("明天", "两三天", WEDNESDAY, "ambiguous"),
    ("明天", "一个月", WEDNESDAY, "ambiguous"),
    ("明天", "零天", WEDNESDAY, "unresolved"),
    ("明天", "两小时", WEDNESDAY, "unresolved"),
    ("next week", "1 day", WEDNESDAY, "ambiguous"),
    ("March", "1 day", WEDNESDAY, "ambiguous"),
    ("2027", "1 day", WEDNESDAY, "ambiguous"),
    ("03/04", "1 day", WEDNESDAY, "ambiguous"),
    ("03/04/2027", "1 day", WEDNESDAY, "ambiguous"),
    ("next Friday", "1 day", WEDNESDAY, "ambiguous"),
    ("Wednesday", "1 day", WEDNESDAY, "ambiguous"),
    ("end of the month", "1 day", WEDNESDAY, "ambiguous"),
    ("in two weeks", "1 day", WEDNESDAY, "ambiguous"),
    ("Monday or Tuesday", "1 day", WEDNESDAY, "ambiguous"),
    ("tomorrow afternoon", "2 days", WEDNESDAY, "ambiguous"),
    ("soon", "1 day", WEDNESDAY, "ambiguous"),
    ("12", "1 day", WEDNESDAY, "unresolved"),
    ("12/21/26", "1 day", WEDNESDAY, "unresolved"),
    ("Feb 30", "1 day", WEDNESDAY, "unresolved"),
    ("February 29, 2027", "1 day", WEDNESDAY, "unresolved"),
    ("yesterday", "1 day", WEDNESDAY, "past"),
    ("last Friday", "1 day", WEDNESDAY, "past"),
    ("this Monday", "1 day", FRIDAY, "past"),
    ("November 24", "1 day", WEDNESDAY, "past"),
    ("2025-12-22", "1 day", WEDNESDAY, "past"),
    ("Saturday", "1 day", WEDNESDAY, "not_a_working_day"),
    ("Tuesday, December 21", "1 day", WEDNESDAY, "contradictory"),
    ("Dec 21-23", "two days", WEDNESDAY, "contradictory"),
    ("2062-12-21", "1 day", WEDNESDAY, "too_far"),
    ("tomorrow", "a few days", WEDNESDAY, "ambiguous"),
    ("tomorrow", "2-3 days", WEDNESDAY, "ambiguous"),
    ("tomorrow", "a month", WEDNESDAY, "ambiguous"),
    ("tomorrow", "0 days", WEDNESDAY, "unresolved"),
    ("tomorrow", "1.3 days", WEDNESDAY, "unresolved"),
    ("tomorrow", "999 days", WEDNESDAY, "too_far"),
    ("tomorrow", "1 day", "not a date", "unresolved"),
    ("tomorrow" * 20, "1 day", WEDNESDAY, "unresolved"),
]


def code_of(start: str, length: str, today: str) -> str:
    with pytest.raises(ToolError) as error:
        resolve_period(start, length, today)
    return error.value.code


@pytest.mark.parametrize(("words", "today", "day"), DAYS_ZH + DAYS_EN)
def test_words_that_pin_one_day(words: str, today: str, day: str) -> None:
    assert resolve_period(words, "half a day", today) == {"start_date": day, "end_date": day, "days": 0.5}


@pytest.mark.parametrize(("words", "days", "end"), LENGTHS)
def test_lengths_are_counted_in_working_days(words: str, days: float, end: str) -> None:
    assert resolve_period("下周一", words, WEDNESDAY) == {
        "start_date": "2026-11-30",
        "end_date": end,
        "days": days,
    }


def test_a_weekend_inside_a_leave_does_not_count() -> None:
    assert resolve_period("周五", "两天", WEDNESDAY) == {
        "start_date": "2026-11-27",
        "end_date": "2026-11-30",
        "days": 2,
    }


@pytest.mark.parametrize(("start", "length", "first", "last", "days"), RANGES)
def test_first_and_last_day_in_one_phrase(
    start: str, length: str, first: str, last: str, days: float
) -> None:
    assert resolve_period(start, length, WEDNESDAY) == {"start_date": first, "end_date": last, "days": days}


@pytest.mark.parametrize(("start", "length", "today", "code"), REFUSED)
def test_what_pins_no_period_is_a_typed_error(start: str, length: str, today: str, code: str) -> None:
    assert code_of(start, length, today) == code


PIECES_ZH = "下 周 星期 一 二 日 天 号 月 年 明天 后 半 个 上午 下午 两 十 之后 从 开始 到 至 (周一) ，"
PIECES_EN = (
    "next this last monday fri december feb 30th to in ago days a half week of the first month from now"
)
NUMBERS = "12 21 3 0 31 29 - / . 2026 9999 0000 ٣"
PIECES = st.sampled_from([*PIECES_ZH.split(), *PIECES_EN.split(), *NUMBERS.split()])
WORDS = st.text(max_size=90) | st.lists(PIECES, max_size=6).flatmap(
    lambda pieces: st.sampled_from(["", " "]).map(lambda space: space.join(pieces))
)
DAY = st.dates(date(2000, 1, 1), date(2199, 12, 31)).map(date.isoformat)


@given(WORDS, WORDS | st.sampled_from(["一天", "half a day", ""]), DAY | st.text(max_size=10))
def test_any_words_end_in_a_possible_period_or_a_typed_error(start: str, length: str, today: str) -> None:
    try:
        period = resolve_period(start, length, today)
    except ToolError:
        return
    assert today <= period["start_date"] <= period["end_date"]
    assert period["days"] > 0
