"""The words for a leave's dates, in Chinese or English, as exact days; or a typed error, never a guess.

`dateparser` reads the dates: month names, ordinals, "tomorrow", "in three days", 明天 to 大后天, 3天后.
Left alone it answers more than was said ("March" becomes a day in March, "next week" some day of that week),
so only forms that pin one day are given to it, and its own `period` has to say "day". Words that it does not
read are put in exact terms here first, with `dateutil`: weekdays of a named week (下周一, "Wednesday of next
week"), 12月21日, 28号, "the first of next month".

What the words mean here:
- A week runs from Monday to Sunday, so 下周一 said on a Sunday is tomorrow. "Next Friday" is taken only where
  the coming Friday and the Friday of next week are the same day. A bare weekday is the coming one, not today.
- A date without a year is the coming one, unless the same date was up to 90 days ago; then it is past.
  Likewise a day without a month that was up to 10 days ago.
- Days are working days, Monday to Friday; a week is five of them. Public holidays are not known.
- 月底, "in two weeks", a month and the like are stretches of time, not days: `ambiguous`.

Error codes: `ambiguous` (more than one reading), `unresolved` (no reading, or no such day), `past`,
`contradictory` (two statements that disagree), `not_a_working_day` (the first or last day is on a weekend),
`too_far` (more than a year ahead).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta

from dateparser.date import DateDataParser
from dateutil.relativedelta import MO, relativedelta
from dateutil.rrule import DAILY, FR, TH, TU, WE, rrule
from typing_extensions import TypedDict

from sopwith.tools import ToolError, tool


class Period(TypedDict):
    """First and last day (ISO 8601) and the number of working days between them; half days are .5."""

    start_date: str
    end_date: str
    days: float


@tool(name="time.resolve_period", effect="read")
def resolve_period(start: str, length: str, today: str) -> Period:
    """Work out the first day, the last day and the working days of a leave from the words for it.

    Args:
        start: The words for the first day, or for the first and the last ("12月21日到23日", "Dec 21-23").
        length: The words for the length ("两天", "half a day"); empty where `start` says both ends.
        today: The day on which this was said, in ISO 8601.
    """
    said_on = _today(today)
    words, length_words = _plain(start), _plain(length)
    if not words:
        raise ToolError("unresolved", "no words for the first day were given", zh="没有给出开始日期")
    if len(words) > 80 or len(length_words) > 80:
        raise ToolError("unresolved", "the words for the dates are too long to be dates", zh="日期的描述过长")
    if _STARTS_WITH_JOINER.match(length_words):
        words, length_words = f"{words} {length_words}", ""
    elif length_words == words:
        length_words = ""
    if not length_words:
        words, length_words = _peel_length(words)
    first, last, part = _first_and_last(words, said_on)
    if last is None and (named := _two_days(length_words, said_on)):
        if named[0] != first:
            raise ToolError("contradictory", f"{start!r} is not {length!r}", zh=f"“{start}”与“{length}”不符")
        last, length_words = named[1], ""
    _refuse_unfit(first, said_on)
    if last is None:
        days = _length(length_words)
        if part == "afternoon" and days != 0.5:
            raise ToolError(
                "ambiguous",
                f"{length!r} from an afternoon on: how many whole and half days?",
                zh=f"从下午开始的“{length}”：是几个整天和半天？",
            )
        last = _working_days(first, count=math.ceil(days))[-1]
        _refuse_unfit(last, said_on)
    else:
        _refuse_unfit(last, said_on)
        days = float(len(_working_days(first, until=last)))
        if length_words and _length(length_words) != days:
            raise ToolError(
                "contradictory",
                f"{start!r} is {days:g} working days, not {length!r}",
                zh=f"“{start}”是 {days:g} 个工作日，与“{length}”不符",
            )
    return {"start_date": first.isoformat(), "end_date": last.isoformat(), "days": days}


def _today(text: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = date.min
    if not 2000 <= day.year < 2200:
        raise ToolError(
            "unresolved", f"today must be an ISO date, not {text!r}", zh=f"today 不是 ISO 日期：{text}"
        )
    return day


def _refuse_unfit(day: date, today: date) -> None:
    if day < today:
        raise ToolError("past", f"{day} is past", zh=f"{day} 已过")
    if day > today + relativedelta(years=1):
        raise ToolError("too_far", f"{day} is more than a year ahead", zh=f"{day} 在一年之后")
    if day.weekday() > 4:
        raise ToolError("not_a_working_day", f"{day} is a {day:%A}", zh=f"{day} 是{_weekday_zh(day)}")


def _weekday_zh(day: date) -> str:
    return f"星期{'一二三四五六日'[day.weekday()]}"


def _working_days(first: date, *, count: int | None = None, until: date | None = None) -> list[date]:
    rule = rrule(
        DAILY,
        dtstart=datetime.combine(first, time()),
        byweekday=(MO, TU, WE, TH, FR),
        count=count,
        until=until and datetime.combine(until, time()),
    )
    return [moment.date() for moment in rule]


_SIMPLIFIED = str.maketrans("週號個禮兩後開這從", "周号个礼两后开这从")
_NUMERAL = re.compile("[〇零一二两三四五六七八九十]+年?")
_DIGIT = dict(zip("〇零一二两三四五六七八九", "001223456789", strict=True))
_TENS = re.compile("([一二三四五六七八九]?)十([一二三四五六七八九]?)")


def _plain(text: str) -> str:
    """One spelling: full-width folded, lower case, Chinese numerals as digits, no punctuation at the ends."""
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_SIMPLIFIED)
    return re.sub(r"\s+", " ", _NUMERAL.sub(_digits, folded)).strip(" ,.;:!。、\"'“”")


def _digits(found: re.Match[str]) -> str:
    """The digits of one numeral. 两三 is not 23: several digits in a row are a number only in a year."""
    run = found[0].removesuffix("年")
    year = found[0][len(run) :]
    if tens := _TENS.fullmatch(run):
        return f"{int(_DIGIT.get(tens[1], '1')) * 10 + int(_DIGIT.get(tens[2], '0'))}{year}"
    if len(run) == 1 or (year and len(run) == 4 and "十" not in run):
        return "".join(_DIGIT[digit] for digit in run if digit in _DIGIT) + year
    return found[0]


_NUMBER_WORD = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7}
_NUMBER_WORD |= {"eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12}
_NUMBER = rf"(?P<number>[0-9]{{1,3}}(?:\.[0-9])?|{'|'.join(_NUMBER_WORD)})"
_WORK = "(?:working |business |work )?"
_HALF_DAY = re.compile(
    r"半(?:天|日|个工作日)|1?个?(?:上午|下午)"
    r"|half[ -]a[ -]day|(?:a |one )?half[ -]day|(?:a|one|the) (?:morning|afternoon)"
)
_WHOLE_DAY = re.compile(r"1?(?:整天|全天)|(?:a |one |the )?(?:full|whole) day|all day|the day")
_DAYS = re.compile(
    rf"{_NUMBER} ?(?:(?:个?工作日|天)(?P<half_zh>半)?|{_WORK}days?(?P<half_after> and a half)?)"
    rf"|{_NUMBER.replace('number', 'halved')} and a half {_WORK}days?"
)
_WEEKS = re.compile(rf"{_NUMBER} ?(?:(?:个?(?:星期|礼拜)|周)|weeks?)")
_VAGUE_LENGTH = re.compile(
    r"几|些|多|左右|一两|两三|三四|[到至~-]|或|few|several|couple|some|about| or |to|month|月|week"
)


def _length(words: str) -> float:
    """The number of working days."""
    text = re.sub(r"^(?:(?:一?共|总共|请|休)|for )|(?:的?假|(?: off| of leave))$", "", words).strip()
    if _HALF_DAY.fullmatch(text):
        days = 0.5
    elif _WHOLE_DAY.fullmatch(text):
        days = 1.0
    elif found := _DAYS.fullmatch(text):
        number = _number(found["number"] or found["halved"])
        days = number + (0.5 if found["half_zh"] or found["half_after"] or found["halved"] else 0)
    elif found := _WEEKS.fullmatch(text):
        days = _number(found["number"]) * 5
    elif _VAGUE_LENGTH.search(text):
        raise ToolError("ambiguous", f"{words!r} is not one number of days", zh=f"“{words}”不是确定的天数")
    else:
        raise ToolError("unresolved", f"{words!r} is not a length in days", zh=f"“{words}”不是天数")
    if days <= 0 or days % 0.5:
        raise ToolError("unresolved", f"{words!r} is not whole and half days", zh=f"“{words}”不以半天计")
    if days > 260:
        raise ToolError("too_far", f"{words!r} is longer than a year", zh=f"“{words}”超过一年")
    return days


def _number(text: str) -> float:
    return float(_NUMBER_WORD.get(text, text))


def _peel_length(words: str) -> tuple[str, str]:
    """`words` that end in a length, as the words before it and the length; else `words` and nothing."""
    for cut in re.finditer(r"[ ,、]+|(?<=[日号天])(?=半|[0-9])", words):
        before, after = words[: cut.start()], words[cut.end() :]
        if before and re.search(r"天|日|周|星期|day|week", after):
            try:
                _length(after)
            except ToolError:
                continue
            return before, after
    return words, ""


_JOINER = re.compile(r" ?(?:到|至|~|—+|–|-| to | until | till | through ) ?")
_STARTS_WITH_JOINER = re.compile(r"(?:到|至|~|—|–|-|to |until |till |through )")
_MONTHS = ["january", "february", "march", "april", "may", "june"]
_MONTHS += ["july", "august", "september", "october", "november", "december"]
_MONTH = "|".join(f"{month}|{month[:3]}" for month in _MONTHS) + "|sept"
_TH = "(?:st|nd|rd|th)"
_WEEKDAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
_WEEKDAY_EN = r"(?P<en>(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?)"
_WEEKDAY_ZH = "(?:周|星期|礼拜)(?P<zh>[1-6日天])"

_IN_A_WEEK_ZH = re.compile(rf"(?P<week>上|本|这个?|下下个?|下个?)?{_WEEKDAY_ZH}")
_IN_A_WEEK_EN = re.compile(
    rf"(?:(?P<week>this coming|the coming|coming|this|next|last) )?{_WEEKDAY_EN}"
    r"(?: (?:of )?(?P<after>this week|next week))?"
    rf"|(?P<before>this week|next week)(?:'s)?,? {_WEEKDAY_EN.replace('<en>', '<en2>')}"
)
_IN_A_MONTH = re.compile(
    rf"(?P<month>本|这个?|下个?)月(?:(?P<day>[0-9]{{1,2}})[日号]|(?P<end>最后1天))"
    rf"|(?:the )?(?:(?P<day_en>[0-9]{{1,2}}){_TH}|(?P<first>first)|(?P<end_en>last day))"
    r" of (?P<month_en>this|the|next) month"
)
_BARE_DAY = re.compile(rf"(?P<zh>[0-9]{{1,2}})[日号]|(?:the )?(?P<en>[0-9]{{1,2}}){_TH}")
_DATE_ZH = re.compile("(?:(?P<year>[0-9]{4}|今|本|明)年)?(?P<month>[0-9]{1,2})月(?P<day>[0-9]{1,2})[日号]?")
_DATE_EN = re.compile(
    rf"(?:the )?[0-9]{{1,2}}{_TH}?(?: of)? (?:{_MONTH})\.?(?:,? (?P<year>[0-9]{{4}}))?"
    rf"|(?:{_MONTH})\.? (?:the )?[0-9]{{1,2}}{_TH}?(?:,? (?P<year2>[0-9]{{4}}))?"
)
_DATE_ISO = re.compile("(?P<year>[0-9]{4})([-/.])[0-9]{1,2}\\2[0-9]{1,2}")
_DATE_NUMBERS = re.compile(
    r"(?P<a>[0-9]{1,2})(?P<mark>[/.])(?P<b>[0-9]{1,2})(?:(?P=mark)(?P<year>[0-9]{4}))?"
)
_RELATIVE = re.compile(
    rf"yesterday|today|tomorrow|(?:the )?day after tomorrow"
    rf"|in {_NUMBER} days?|[0-9]{{1,3}} days? (?:from now|ago)"
    r"|前天|昨天|今天|明天|后天|大后天|[0-9]{1,3}天[之以]?[前后]"
)
_STRETCH = re.compile(
    r"[上下本这]+个?(?:周|星期|礼拜|月|年)|周末|[0-9]{1,2}月份?|.*[月年][初中底末]|.*[月周天][上中下]旬"
    r"|[0-9]+个?(?:周|星期|月)[之以]?后|明后天|这两天|过?几天.*|.*或.*|尽快|有空|随便|改天"
    r"|.* or .*|(?:early |late |mid )?(?:the |this |next |coming )?(?:week|weekend|month|year)"
    rf"|.*end of (?:the |this |next )?(?:month|week|year)|(?:{_MONTH})(?: [0-9]{{4}})?|[0-9]{{4}}"
    r"|in .*(?:weeks?|months?|few|couple).*|.* weeks from .*|soon|one day|some ?day|whenever"
)
_LEADING = re.compile(r"^(?:从|自|就|在|于|(?:from|on|starting|starting from|starting on|beginning|as of) )")
_TRAILING = re.compile(r"(?:开始|起|(?:,? ?onwards?))$")
_PART_OF_DAY = re.compile(r"(?P<day>.+?) ?(?:(?P<morning>上午|早上|morning)|(?P<afternoon>下午|afternoon))")


def _first_and_last(words: str, today: date) -> tuple[date, date | None, str | None]:
    """The first day; the last day and the part of the first day where the words name them."""
    text = _TRAILING.sub("", _LEADING.sub("", words)).strip()
    part = None
    if found := _PART_OF_DAY.fullmatch(text):
        text, part = found["day"], "morning" if found["morning"] else "afternoon"
    try:
        return _day(text, today, today), None, part
    except ToolError as error:
        if error.code != "unresolved" or part is not None:
            raise
        not_one_day = error
    for left, right in _cuts(text):
        try:
            first = _day(left, today, today)
            return first, _last_day(right, first, today), None
        except ToolError as error:
            if error.code != "unresolved":
                raise
    raise not_one_day


def _two_days(words: str, today: date) -> tuple[date, date] | None:
    """The first and the last day, where `words` name both."""
    if not _JOINER.search(words):
        return None
    try:
        first, last, _ = _first_and_last(words, today)
    except ToolError as error:
        if error.code != "unresolved":
            raise
        return None
    return (first, last) if last else None


def _cuts(text: str) -> Iterator[tuple[str, str]]:
    """The two halves of `text` at each joiner; the second lends its month to the first ("21-23 December")."""
    dates = [found.span() for found in re.finditer(_DATE_ISO, text)]
    for joiner in _JOINER.finditer(text):
        if any(begin <= joiner.start() < end for begin, end in dates):
            continue
        left, right = text[: joiner.start()].strip(), text[joiner.end() :].strip()
        if re.fullmatch(rf"(?:the )?[0-9]{{1,2}}{_TH}?", left) and (
            shared := re.fullmatch("[0-9]{1,2}(.+)", right)
        ):
            left = re.sub(f"{_TH}$", "", left) + shared[1]
        yield left, right


def _last_day(text: str, first: date, today: date) -> date:
    if re.fullmatch("[0-9]{1,2}[日号]?", text) or _BARE_DAY.fullmatch(text):
        last = _day_of_month(int(re.sub("[^0-9]", "", text)), first, text)
    else:
        try:
            last = _day(text, today, first)
        except ToolError as error:
            if error.code != "past":
                raise
            raise _before(text, first) from error
    if last < first:
        raise _before(last, first)
    return last


def _before(last: date | str, first: date) -> ToolError:
    words = f"the last day {last} is before the first, {first}"
    return ToolError("contradictory", words, zh=f"最后一天 {last} 早于第一天 {first}")


def _day(text: str, today: date, since: date) -> date:
    """The one day that `text` names; bare weekdays and dates without a year are counted from `since`."""
    if found := _IN_A_WEEK_ZH.fullmatch(text):
        weekday = 6 if found["zh"] in "日天" else int(found["zh"]) - 1
        if found["week"] is None:
            return _coming(weekday, since, text)
        return _in_week(
            {"上": -1, "下": 1, "下下": 2}.get(found["week"].removesuffix("个"), 0), weekday, today
        )
    if found := _IN_A_WEEK_EN.fullmatch(text):
        return _english_weekday(found, today, since, text)
    if found := _IN_A_MONTH.fullmatch(text):
        ahead = found["month_en"] == "next" or (found["month"] or "").startswith("下")
        month = today + relativedelta(months=1 if ahead else 0)
        if found["end"] or found["end_en"]:
            return month + relativedelta(day=31)
        return _day_of_month(1 if found["first"] else int(found["day"] or found["day_en"]), month, text)
    if found := _BARE_DAY.fullmatch(text):
        return _coming_day(int(found["zh"] or found["en"]), since, text)
    if found := _DATE_NUMBERS.fullmatch(text):
        return _numbers(found, since, text)
    if found := _DATE_ZH.fullmatch(text):
        if not 1 <= int(found["month"]) <= 12:
            raise _no_day(text)
        named = f"{found['day']} {_MONTHS[int(found['month']) - 1]}"
        if found["year"] is None:
            return _coming_date(named, since, text)
        year = {"今": today.year, "本": today.year, "明": today.year + 1}.get(found["year"]) or int(
            found["year"]
        )
        return _read(f"{named} {year}", today, text)
    if found := _DATE_EN.fullmatch(text):
        return (
            _read(text, today, text) if found["year"] or found["year2"] else _coming_date(text, since, text)
        )
    if _DATE_ISO.fullmatch(text) or _RELATIVE.fullmatch(text):
        return _read(re.sub("[之以]", "", text), today, text)
    if found := _weekday_and_rest(text):
        weekday, rest = found
        day = _day(rest, today, since)
        if day.weekday() != weekday:
            raise ToolError(
                "contradictory", f"{text!r}: {day} is a {day:%A}", zh=f"{day} 是{_weekday_zh(day)}"
            )
        return day
    if _STRETCH.fullmatch(text):
        raise ToolError("ambiguous", f"{text!r} is not one day", zh=f"“{text}”不是确定的一天")
    raise ToolError("unresolved", f"{text!r} names no day", zh=f"“{text}”没有说明是哪一天")


def _in_week(weeks: int, weekday: int, today: date) -> date:
    return today + relativedelta(weekday=MO(-1)) + relativedelta(weeks=weeks, days=weekday)


def _coming(weekday: int, since: date, text: str) -> date:
    if since.weekday() == weekday:
        raise ToolError(
            "ambiguous", f"{text!r}: {since} or a week later?", zh=f"“{text}”：{since} 还是一周后？"
        )
    return since + relativedelta(days=(weekday - since.weekday()) % 7)


def _english_weekday(found: re.Match[str], today: date, since: date, text: str) -> date:
    weekday = _WEEKDAYS.index((found["en"] or found["en2"])[:3])
    named_week = found["after"] or found["before"]
    if named_week and not found["week"]:
        return _in_week(1 if named_week == "next week" else 0, weekday, today)
    if found["week"] == "this" and not named_week:
        return _in_week(0, weekday, today)
    if named_week:
        raise ToolError("ambiguous", f"{text!r} names two weeks", zh=f"“{text}”说的是两个不同的星期")
    if found["week"] is None:
        return _coming(weekday, since, text)
    if found["week"] == "last":
        raise ToolError("past", f"{text!r} is past", zh=f"“{text}”已过")
    coming = today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1)
    if found["week"] == "next" and coming != _in_week(1, weekday, today):
        raise ToolError(
            "ambiguous", f"{text!r}: {coming} or a week later?", zh=f"“{text}”：{coming} 还是一周后？"
        )
    return coming


def _day_of_month(number: int, month: date, text: str) -> date:
    day = month + relativedelta(day=number) if number else month
    if day.day != number:  # relativedelta clamps: the 31st of November would be the 30th
        raise ToolError("unresolved", f"{month:%B %Y} has no {text!r}", zh=f"{month:%Y-%m} 没有“{text}”")
    return day


def _coming_day(number: int, since: date, text: str) -> date:
    if number >= since.day:
        return _day_of_month(number, since, text)
    if since.day - number <= 10:
        raise ToolError(
            "past",
            f"{text!r} has just passed; name the month if the next one is meant",
            zh=f"“{text}”刚过；如指下一次，请说明月份",
        )
    return _day_of_month(number, since + relativedelta(months=1), text)


def _coming_date(words: str, since: date, text: str) -> date:
    before, after = _read(words, since, text, prefer="past"), _read(words, since, text, prefer="future")
    if since in (before, after):
        return since
    if since - before <= timedelta(days=90):
        raise ToolError(
            "past",
            f"{text!r} has passed on {before}; give the year if the next one is meant",
            zh=f"“{text}”已于 {before} 过去；如指下一次，请说明年份",
        )
    return after


def _numbers(found: re.Match[str], since: date, text: str) -> date:
    a, b = int(found["a"]), int(found["b"])
    if a <= 12 and b <= 12 and a != b:
        raise ToolError(
            "ambiguous", f"{text!r} may be day and month or month and day", zh=f"“{text}”日月不明"
        )
    day, month = max(a, b), min(a, b)
    if not 1 <= month <= 12 or day < 1:
        raise _no_day(text)
    named = f"{day} {_MONTHS[month - 1]}"
    return (
        _read(f"{named} {found['year']}", since, text) if found["year"] else _coming_date(named, since, text)
    )


def _weekday_and_rest(text: str) -> tuple[int, str] | None:
    """A weekday beside a date ("Monday, December 21", 12月21日(周一)): both have to agree."""
    zh = re.fullmatch(rf"(?P<rest>.+?) ?\(?{_WEEKDAY_ZH}\)?", text)
    if zh and re.search("[日号天0-9]$", zh["rest"]):
        return (6 if zh["zh"] in "日天" else int(zh["zh"]) - 1), zh["rest"]
    en = re.fullmatch(rf"{_WEEKDAY_EN},? (?:the )?(?P<rest>.*[0-9].*)", text) or re.fullmatch(
        rf"(?P<rest>.*[0-9].*?),? \(?{_WEEKDAY_EN}\)?", text
    )
    if en:
        return _WEEKDAYS.index(en["en"][:3]), en["rest"]
    return None


def _no_day(text: str) -> ToolError:
    return ToolError("unresolved", f"there is no day {text!r}", zh=f"没有“{text}”这一天")


def _read(words: str, seen_from: date, text: str, prefer: str = "future") -> date:
    """What the date library reads in `words`, which have to pin one day."""
    data = DateDataParser(
        languages=["en", "zh"],
        use_given_order=True,
        settings={
            "RELATIVE_BASE": datetime.combine(seen_from, time()),
            "PREFER_DATES_FROM": prefer,
            "REQUIRE_PARTS": ["day", "month"],
            "DATE_ORDER": "YMD" if _DATE_ISO.fullmatch(words) else "DMY",
        },
    ).get_date_data(words)
    if data.date_obj is None:
        raise _no_day(text)
    if data.period != "day":
        raise ToolError("ambiguous", f"{text!r} is not one day", zh=f"“{text}”不是确定的一天")
    return data.date_obj.date()
