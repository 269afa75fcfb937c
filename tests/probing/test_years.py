"""Several years of one series are drawn as a change over time, each series by itself."""

from __future__ import annotations

import pytest

from lmprobe import probe
from lmprobe.probing.years import years_section

ACS = [f"labor-acs-{year}" for year in (2015, 2013, 2014)]


def test_each_series_has_a_line_with_its_years_in_order() -> None:
    result = probe("reference:amplified", "fitbert-iclr", [*ACS, "labor", "labor-2022", "winobias"])
    (section,) = years_section(result)
    assert [figure.name for figure in section.figures] == [
        "years-task_to_attribute",
        "years-attribute_to_task",
    ]
    first = section.figures[0]
    assert [(one.name, one.x) for one in first.series] == [  # type: ignore[union-attr]
        ("ACS", (2013.0, 2014.0, 2015.0)),
        ("CPS", (2016.0, 2022.0)),
    ]
    acs = first.series[0]  # type: ignore[union-attr]
    assert acs.labels == tuple(sorted(ACS))
    for base, value, low, high in zip(acs.labels, acs.y, acs.low, acs.high, strict=True):
        row = result.row(base, "T->A")
        assert (value, low, high) == (row.value, row.interval.low, row.interval.high)
    assert "Over the years" in result.to_html()


@pytest.mark.parametrize("bases", [["labor"], ["labor", "labor-acs-2013"], ["labor", "winobias"]])
def test_one_year_of_a_series_is_no_change(bases: list[str]) -> None:
    assert years_section(probe("reference:amplified", "fitbert-iclr", bases)) == ()
