import random

import pytest

from sopwith.errors import UserError
from sopwith.models.calibrate import Label, fit, read_labels


def unsure(count: int, seed: int = 7) -> list[Label]:
    """Choices of a model that is right nine times of ten above 0.5 and four of ten below, and never far from 0.5."""
    dice = random.Random(seed)
    found: list[Label] = []
    for _ in range(count):
        own = dice.uniform(0.45, 0.6)
        found.append(Label(own, dice.random() < (0.95 if own > 0.5 else 0.4)))
    return found


def test_a_calibration_says_how_often_a_model_is_right():
    found = fit(unsure(400))
    assert found.after < found.before
    assert found.calibration.of(0.58) > 0.85 > 0.65 > found.calibration.of(0.46)
    assert found.calibration.labels == 400 and found.calibration.slope > 1


def test_a_model_that_is_surer_where_it_is_wrong_gets_one_probability():
    found = fit([Label(0.9, False), Label(0.8, False), *[Label(0.4, True)] * 10])
    assert found.calibration.slope == 0
    assert found.calibration.of(0.1) == found.calibration.of(0.99)


def test_the_same_labels_give_the_same_calibration():
    assert fit(unsure(50)) == fit(unsure(50))


@pytest.mark.parametrize("labels", [[], unsure(9), [Label(0.5, True)] * 20, [Label(1.0, False)] * 20])
def test_too_little_is_refused(labels):
    with pytest.raises(UserError, match="too little"):
        fit(labels)


def test_certain_choices_do_no_harm():
    found = fit([Label(1.0, True)] * 12 + [Label(0.0, False)] * 12)
    assert found.calibration.of(1.0) > 0.9 and found.calibration.of(0.0) < 0.1


@pytest.mark.parametrize(
    "line",
    ["x", "[]", '{"confidence": 2, "right": true}', '{"confidence": 0.5}', '{"confidence": 0.5, "right": 1}'],
)
def test_a_line_that_is_no_label_is_named(tmp_path, line):
    file = tmp_path / "labels.jsonl"
    file.write_text('{"confidence": 0.5, "right": true, "note": "kept"}\n\n' + line, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        read_labels(file)
    assert caught.value.message.en.startswith(f"{file}:3: ")
    with pytest.raises(UserError):
        read_labels(tmp_path / "none.jsonl")
