"""Which columns hold what: what is refused, what a query calls them, patterns of names."""

from __future__ import annotations

import pytest

from lmprobe.errors import InputError
from lmprobe.tabular.settings import Columns, expanded, expanded_like, listed


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"attribute": ()}, "give `attribute`"),
        ({"task": ()}, "give `task`, the name"),
        ({"attribute": ("sex", "sex")}, '`attribute` names the column "sex" twice'),
        ({"task": ("t", "u", "t")}, '`task` names the column "t" twice'),
        ({"score": ("s",)}, "`score` or `task_prediction`, not both"),
        ({"task_prediction": ()}, "give `task_prediction`, `score` or `attribute_prediction`"),
        ({"task_prediction": ("p", "q")}, "`task_prediction` names 2 columns and `task` 1"),
        ({"attribute_prediction": ("b", "c")}, "names 2 columns and `attribute` 1"),
        (
            {"task_prediction": (), "task": ("t", "u"), "score": ("s",)},
            "`score` names 1 column and `task` 2",
        ),
    ],
)
def test_columns_that_do_not_go_together_are_refused(
    columns: dict[str, tuple[str, ...]], problem: str
) -> None:
    whole = {"attribute": ("sex",), "task": ("t",), "task_prediction": ("p",), **columns}
    with pytest.raises(InputError, match=problem):
        Columns(**whole)  # type: ignore[arg-type]


def test_a_star_stands_for_any_columns_unless_a_column_is_called_so() -> None:
    columns = ("a.x", "a.y", "b", "c*", "cd")
    assert expanded(("a.*", "b"), columns) == ("a.x", "a.y", "b")
    assert expanded(("c*",), columns) == ("c*",)
    # What is not there is refused later, with the name that was given.
    assert expanded(("d*", "e"), columns) == ("d*", "e")
    # Brackets and question marks are no patterns by themselves.
    assert expanded(("a.?",), columns) == ("a.?",)


def test_predictions_follow_the_order_of_their_labels() -> None:
    columns = ("t.2", "t.1", "p.1", "p.2", "p.3")
    assert expanded_like(("p.*",), ("t.*",), columns) == ("p.2", "p.1")
    # Without a star in the label, with another number of names or with two stars: as they are.
    assert expanded_like(("p.*",), ("t.1",), columns) == ("p.1", "p.2", "p.3")
    assert expanded_like(("p.*",), ("t.*", "t.1"), columns) == ("p.1", "p.2", "p.3")
    assert expanded_like(("*.*",), ("t.*",), columns) == columns
    assert expanded_like(("p.1",), ("t.*",), columns) == ("p.1",)


def test_the_star_of_a_label_may_have_an_end() -> None:
    columns = ("is.tie.true", "is.oven.true", "oven.said", "tie.said")
    result = expanded_like(("*.said",), ("is.*.true",), columns)
    assert result == ("tie.said", "oven.said")


def test_a_column_called_by_a_star_is_itself() -> None:
    columns = ("t*", "t1", "p1", "p2")
    assert expanded_like(("p*",), ("t*",), columns) == ("p1", "p2")
    columns = ("t1", "t2", "p*", "p1")
    assert expanded_like(("p*",), ("t*",), columns) == ("p*",)


@pytest.mark.parametrize(
    ("count", "text"),
    [(1, "0"), (5, "0, 1, 2, 3, 4"), (6, "0, 1, 2, 3, 4 and 1 more")],
)
def test_long_lists_are_cut(count: int, text: str) -> None:
    assert listed([str(number) for number in range(count)]) == text
