"""How sure a model is, fitted to how often it was right: from choices that somebody has labelled."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from sopwith.errors import Text, UserError
from sopwith.ir.os_reason import os_reason
from sopwith.models.failure import package_missing
from sopwith.models.profile import Calibration

LEAST = 10
"""Fewer labelled choices say nothing."""

_EDGE = 1e-6
_FOLDS = 10
_HINT = Text(
    'a line is {"confidence": 0.52, "right": true}, with the confidence that the model itself gave',
    '每行形如 {"confidence": 0.52, "right": true}，confidence 为模型自己给出的置信度',
)


@dataclass(frozen=True, slots=True)
class Label:
    """One choice: the model's own probability of what it chose, and whether that was right."""

    confidence: float
    right: bool


@dataclass(frozen=True, slots=True)
class Fit:
    """A calibration, and how far confidences are from the truth: the mean of (confidence - right)², 0 at best. `after`
    is measured on choices that the fit had not seen."""

    calibration: Calibration
    right: float
    before: float
    after: float


def read_labels(file: Path) -> list[Label]:
    """Labelled choices, one JSON object a line. Raises `UserError` with file and line."""
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = os_reason(error) if isinstance(error, OSError) else Text("not UTF-8", "不是 UTF-8 编码")
        raise UserError(
            Text(f"{file} cannot be read: {why.en}", f"无法读取 {file}：{why.zh}"), _HINT
        ) from error
    return [_label(f"{file}:{number}", line) for number, line in enumerate(lines, 1) if line.strip()]


def _label(place: str, line: str) -> Label:
    try:
        value: Any = json.loads(line)
    except ValueError:
        value = None
    if isinstance(value, dict):
        given = cast("dict[str, Any]", value)
        sure, right = given.get("confidence"), given.get("right")
        if isinstance(right, bool) and isinstance(sure, int | float) and 0 <= sure <= 1:
            return Label(float(sure), right)
    raise UserError(Text(f"{place}: this is no labelled choice", f"{place}：这不是带标签的选择"), _HINT)


def fit(labels: Sequence[Label]) -> Fit:
    """A logistic calibration (after Platt, with his smoothed targets) of labelled choices. Needs SciPy.

    Raises `UserError` for too few of them, or where all or none are right.
    """
    right = sum(label.right for label in labels)
    if len(labels) < LEAST or right in (0, len(labels)):
        raise UserError(
            Text(
                f"{len(labels)} choices, {right} of them right: that is too little to calibrate with",
                f"共 {len(labels)} 个选择，其中 {right} 个正确：不足以校准",
            ),
            Text(
                f"label at least {LEAST}, with right and wrong ones among them",
                f"请至少标注 {LEAST} 个，其中须有对有错",
            ),
        )
    folds = min(_FOLDS, len(labels))
    squares: list[float] = []
    for fold in range(folds):
        learned = _fitted([label for i, label in enumerate(labels) if i % folds != fold])
        unseen = labels[fold::folds]
        squares += [(learned.of(label.confidence) - label.right) ** 2 for label in unseen]
    before = [(label.confidence - label.right) ** 2 for label in labels]
    return Fit(_fitted(labels), right / len(labels), _mean(before), _mean(squares))


def _fitted(labels: Sequence[Label]) -> Calibration:
    right = sum(label.right for label in labels)
    wrong = len(labels) - right
    yes, no = (right + 1) / (right + 2), 1 / (wrong + 2)
    points = [(_logit(label.confidence), yes if label.right else no) for label in labels]

    def loss(parameters: Sequence[float]) -> float:
        slope, offset = parameters
        scores = ((slope * own + offset, target) for own, target in points)
        return sum(_softplus(score) - target * score for score, target in scores)

    found = _seam().minimize(loss, (1.0, 0.0), method="L-BFGS-B", bounds=((0, 100), (-100, 100)))
    slope, offset = (round(float(value), 6) for value in found.x)
    return Calibration(slope=slope, offset=offset, labels=len(labels))


def _logit(probability: float) -> float:
    kept = min(max(probability, _EDGE), 1 - _EDGE)
    return math.log(kept / (1 - kept))


def _softplus(value: float) -> float:
    return max(value, 0.0) + math.log1p(math.exp(-abs(value)))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _seam() -> Any:
    """The one place that imports SciPy, when it is first needed."""
    try:
        import scipy.optimize
    except ImportError as error:
        raise package_missing("scipy", "calibrate") from error
    return cast("Any", scipy.optimize)
