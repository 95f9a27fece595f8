"""The number that stands before a step or a heading of a draft."""

from __future__ import annotations

import re

_HAN = "一二三四五六七八九十"
NUMBERED = re.compile(
    rf"(?:(?:step|步骤)\s*(?P<step>[0-9０-９]{{1,6}}(?:[.．][0-9]{{1,6}})*|[{_HAN}]{{1,3}})\s*(?:[.:：。、)）\-–—]+\s*|\s+|$)"
    rf"|第\s*(?P<th>[0-9０-９]{{1,6}}|[{_HAN}]{{1,3}})\s*步\s*[.:：。、，,]?\s*"
    rf"|(?P<dotted>[0-9０-９]{{1,6}}(?:[.．][0-9０-９]{{1,6}})+)\s*[.、)）:：]?\s+"
    rf"|(?P<plain>[0-9０-９]{{1,6}}|[{_HAN}]{{1,3}})\s*(?:[、)）]\s*|[.．:：]\s+|[.．](?=[^\x00-\x7f]))"
    rf"|[(（]\s*(?P<inner>[0-9０-９]{{1,6}}|[{_HAN}]{{1,3}})\s*[)）]\s*)",
    re.IGNORECASE,
)
"""The number that somebody writes before a step: `1.`, `2.1`, `（一）`, `第三步`, `Step 4:`."""
