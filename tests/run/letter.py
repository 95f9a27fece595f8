"""A procedure of one step that a model that costs something may need several replies for."""

from __future__ import annotations

from decimal import Decimal

from sopwith import Budget, Engine
from sopwith.guard.budget import Budgets
from sopwith.guard.price import Prices
from sopwith.ir.event import ModelReplied
from sopwith.ir.usage import Usage
from sopwith.models.port import ModelReply
from sopwith.models.scripted import ScriptedModel
from sopwith.run.run import Run

DRAFT = """
schema: sopwith/procedure/1
id: letter
name: Write a letter
description: Draft a letter, or say that it cannot be done
output: {type: object, required: [how], properties: {how: {type: string}}}
start: draft
steps:
  draft:
    name: Draft
    do: Write a short title
    returns: {type: object, required: [title], properties: {title: {type: string, maxLength: 5}}}
    retry: {times: 2}
    on_error:
      - {to: short, when: error.code == 'budget'}
      - {otherwise: person}
    next: done
  done:
    name: Done
    end: complete
    result: {how: "${draft.title}"}
  short:
    name: Do it the short way
    end: complete
    result: {how: short}
  person:
    name: To a person
    end: escalate
"""
USED = Usage(input=100, cached=50, output=10)
PRICES = Prices.read("paid: {input: 1, cached: 0.1, output: 2}\n")
COST = Decimal("0.000125")


def paid(*texts: str, usage: Usage = USED) -> ScriptedModel:
    """A scripted model that costs something and says what it used."""
    return ScriptedModel([ModelReply(text, usage=usage) for text in texts], id="paid")


def letter(model: ScriptedModel, budget: Budget | Budgets, prices: Prices = PRICES) -> Engine:
    return Engine(DRAFT, model=model, budget=budget, prices=prices)


def calls(run: Run) -> int:
    return sum(isinstance(event.body, ModelReplied) for event in run.events)
