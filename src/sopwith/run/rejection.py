"""Refusing a reply: how often a model is asked again, and when that ends."""

from __future__ import annotations

from sopwith.ir.tool import ErrorData
from sopwith.run.decision import RejectReply
from sopwith.run.lifecycle import REPLY_TRIES
from sopwith.run.state import Cursor


def reject(cursor: Cursor, error: ErrorData, repairs: tuple[str, ...] = ()) -> RejectReply:
    """Refuse the reply at hand; finally, when the tries are used up or the model repeats itself word for word."""
    text = cursor.reply.text if cursor.reply else None
    final = len(cursor.rejections) + 1 >= REPLY_TRIES or (text is not None and text == cursor.rejected_text)
    return RejectReply(error, repairs, final)
