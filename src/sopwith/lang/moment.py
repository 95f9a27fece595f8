"""Times and durations as procedures write them: ISO 8601 with the zone, and `2d`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from sopwith.errors import Text
from sopwith.ir.duration import read_duration
from sopwith.ir.value import Json

TIME_HINT = Text(
    "Write date, time and zone: 2026-12-01T09:00:00+08:00",
    "请写明日期、时间和时区：2026-12-01T09:00:00+08:00",
)
DURATION_HINT = Text("Write 90s, 30m, 2h or 2d.", "请写成 90s、30m、2h 或 2d。")

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST = datetime(1, 1, 2, tzinfo=UTC)
_LAST = datetime(9999, 12, 30, tzinfo=UTC)


def read_time(value: Json) -> int | Text:
    """Microseconds since 1970 UTC, or why `value` is no point in time. A time without a zone is none: where its reader
    lives must not decide when something happens."""
    if not isinstance(value, str):
        return Text("a time is text", "时间应为文本")
    if _DATE.fullmatch(value.strip()):
        return Text(f"'{value}' is a date without a time and a zone", f"“{value}”只有日期，缺少时间和时区")
    try:
        found = datetime.fromisoformat(value.strip())
    except ValueError:
        return Text(f"'{value}' is not a time", f"“{value}”不是时间")
    if found.tzinfo is None:
        return Text(f"'{value}' has no time zone", f"“{value}”没有时区")
    if not _FIRST - _EPOCH <= found - _EPOCH <= _LAST - _EPOCH:
        return Text(
            f"'{value}' lies outside the years 1 to 9999 in some time zone",
            f"“{value}”在某些时区超出了公元 1 至 9999 年",
        )
    return (found - _EPOCH) // timedelta(microseconds=1)


def read_pause(value: Json) -> float | Text:
    """Seconds, or why `value` is no duration. A number is seconds; zero, or less, is none."""
    seconds = read_duration(value.strip() if isinstance(value, str) else value)
    if seconds is None:
        return Text(f"'{value}' is not a positive duration", f"“{value}”不是正的时长")
    return seconds


def write_time(at: int) -> str:
    """Microseconds since 1970 as ISO 8601 in UTC, to the second; at the most the first and last days there are."""
    bounds = ((moment - _EPOCH) // timedelta(microseconds=1) for moment in (_FIRST, _LAST))
    moment = _EPOCH + timedelta(microseconds=sorted((at, *bounds))[1])
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
