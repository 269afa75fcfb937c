"""What is said of a probe's interval: what it assumes and where it is not to be trusted."""

from __future__ import annotations

import numpy as np
import pytest

from lmprobe.intervals.method import Sample, Traits, declare
from lmprobe.intervals.probe import draws_tasks, probe_interval
from lmprobe.results import Interval, NoteKind

COVERS = (
    "the interval describes templates and tasks like these; it covers neither people nor other "
    "training runs of the model"
)


def method(traits: Traits):  # type: ignore[no-untyped-def]
    """A method with these traits that takes no time."""

    @declare(traits)
    def made_up(sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
        return Interval(sample.value - 1, sample.value + 1, confidence, "made up")

    return made_up


RESAMPLING = method(Traits(resamples=True, approximate=True))
APPROXIMATE = method(Traits(approximate=True))
CROSSED = method(Traits(crossed=True))
CERTAIN = method(Traits())


def notes(
    templates: int, tasks: int, chosen: object = RESAMPLING, **options: object
) -> list[tuple[NoteKind, str]]:
    cells = np.random.default_rng(0).normal(size=(templates, 2, tasks))
    _, found = probe_interval(
        cells,
        method=chosen,  # type: ignore[arg-type]
        rng=np.random.default_rng(0),
        **options,  # type: ignore[arg-type]
    )
    return [(note.kind, note.text) for note in found]


@pytest.mark.parametrize(
    ("chosen", "resample", "expected"),
    [
        (RESAMPLING, "both", "12 templates crossed with 11 tasks"),
        (RESAMPLING, "templates", "12 templates, the tasks are taken as fixed"),
        (RESAMPLING, "tasks", "11 tasks, the templates are taken as fixed"),
        # What does not resample takes no notice of what would be drawn.
        (CROSSED, "both", "12 templates crossed with 11 tasks"),
        (CROSSED, "templates", "12 templates crossed with 11 tasks"),
        (CROSSED, "tasks", "12 templates crossed with 11 tasks"),
        (CERTAIN, "both", "12 templates, the tasks are taken as fixed"),
        (CERTAIN, "tasks", "12 templates, the tasks are taken as fixed"),
    ],
)
def test_what_the_sample_is(chosen: object, resample: str, expected: str) -> None:
    text = f"made up: the sample is {expected}; {COVERS}"
    assert notes(12, 11, chosen, resample=resample) == [(NoteKind.ASSUMPTION, text)]


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (RESAMPLING, [True, False, True]),
        (CROSSED, [True, True, True]),
        (CERTAIN, [False, False, False]),
    ],
)
def test_which_intervals_take_the_tasks_as_a_sample(chosen: object, expected: list[bool]) -> None:
    ways = ("both", "templates", "tasks")
    assert [draws_tasks(chosen, way) for way in ways] == expected  # type: ignore[arg-type]


def few(templates: int, tasks: int, chosen: object = RESAMPLING, **options: object) -> list[str]:
    return [
        text for kind, text in notes(templates, tasks, chosen, **options) if kind == "few_units"
    ]


def test_fewer_than_ten_are_few() -> None:
    assert few(10, 10) == []
    assert few(9, 10) == ["only 9 templates: the interval may cover the truth less often than 95%"]
    assert few(10, 9, confidence=0.8) == [
        "only 9 tasks: the interval may cover the truth less often than 80%"
    ]
    assert len(few(9, 9)) == 2
    # What is fixed may be few.
    assert few(9, 10, resample="tasks") == few(10, 9, resample="templates") == []
    assert few(10, 9, APPROXIMATE) == []
    assert len(few(9, 10, APPROXIMATE)) == 1
    assert few(2, 2, CROSSED) == few(2, 2, CERTAIN) == []


def test_with_fewer_than_five_no_resample_is_far_enough() -> None:
    end = "as no resample is beyond the extreme"
    assert all(end not in text for text in few(5, 5))
    (templates,) = few(4, 10)
    assert templates.endswith(f"than 95%, {end} template; use t-crossed")
    (tasks,) = few(10, 4)
    assert tasks.endswith(f"than 95%, {end} task; use t-crossed")
    # A method that draws one axis, or none, would gain nothing.
    for other in (few(4, 10, resample="templates"), few(4, 10, APPROXIMATE)):
        assert [text.partition(":")[0] for text in other] == ["only 4 templates"]
        assert end not in other[0]


def test_families_are_named_where_templates_share_them() -> None:
    families = list("aaaabbbbcccc")
    found = notes(12, 12, families=families)
    assert "the sample is 3 paraphrase families crossed with 12 tasks" in found[0][1]
    assert found[1][1].startswith("only 3 paraphrase families:")
    assert "beyond the extreme paraphrase family; use t-crossed" in found[1][1]
    alone = notes(12, 12, families=["a"] * 12)
    assert "1 paraphrase family crossed with 12 tasks" in alone[0][1]
    assert "with one paraphrase family the spread cannot be estimated" in alone[1][1]


def test_one_unit_has_no_interval_whatever_the_method() -> None:
    expected = "no interval: with one {} the spread cannot be estimated"
    for chosen in (RESAMPLING, CERTAIN):
        assert notes(1, 12, chosen)[1:] == [(NoteKind.NO_INTERVAL, expected.format("template"))]
    assert notes(12, 1)[1:] == [(NoteKind.NO_INTERVAL, expected.format("task"))]
    assert "1 task," not in notes(12, 1, CERTAIN)[0][1]
    assert len(notes(12, 1, CERTAIN)) == 1
    assert [kind for kind, _ in notes(2, 12)] == [NoteKind.ASSUMPTION, NoteKind.FEW_UNITS]


def test_a_caveat_is_said_last() -> None:
    found = notes(12, 12, method(Traits(caveat="mind this")))
    assert found[1:] == [(NoteKind.METHOD, "mind this")]
