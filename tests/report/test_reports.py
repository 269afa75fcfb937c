"""The forms of a report: what they say, that they stand alone, that they are small and quick."""

from __future__ import annotations

import base64
import hashlib
import math
import re
import shlex
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from lmprobe import LmprobeError
from lmprobe.cli.main import app
from lmprobe.figure import Figure, Series
from lmprobe.intervals.interval import Interval
from lmprobe.report import words
from lmprobe.report.command import command
from lmprobe.report.gate import Gate
from lmprobe.report.html import MOST_PAIRS, html_report
from lmprobe.report.markdown import markdown_report
from lmprobe.report.model_card import eval_results, model_card
from lmprobe.report.page import reproduction_page
from lmprobe.report.reproduction import (
    OUT_OF_REACH,
    OutOfReach,
    printed_tables,
    reproduction_markdown,
)
from lmprobe.report.text import run_table
from lmprobe.reproduce.experiment import Reproduction
from lmprobe.result import LIMITS, ProbeResult


def printed(result: ProbeResult, width: int = 80) -> str:
    console = Console(width=width, highlight=False, color_system=None)
    with console.capture() as captured:
        for part in run_table(result):
            console.print(part)
    return captured.get()


def test_the_table_fits_80_columns_and_says_everything(result: ProbeResult) -> None:
    text = printed(result)
    assert max(len(line) for line in text.splitlines()) <= 80
    for row in result.rows:
        (line, *_) = [one for one in text.splitlines() if words.ends(row.interval) in one]
        assert line.split()[:2] == [row.base, words.signed(row.value)]
        assert row.verdict.removesuffix(" either way") in line
    assert "2 of 64" in text
    assert "left out: they" in text
    assert "scored whole: mover (2), cashier (2)" in text
    assert "task->attribute" in text
    assert "attribute->task" in text


def test_markup_in_words_is_printed_as_it_is(made: Callable[..., ProbeResult]) -> None:
    text = printed(made(model="[bold]m[/bold]", bases=["[red]b"], notes=["[/] x"]))
    assert "[bold]m[/bold]" in text
    assert "[red]b" in text
    assert "[/] x" in text


def test_the_page_stands_alone(result: ProbeResult) -> None:
    page = html_report(result)
    assert not re.findall(r"""(?:src|href)=["'](?!#)""", page)
    assert not re.findall(r"@import|url\(", page)
    assert re.search("<style>.*prefers-color-scheme: dark", page, re.DOTALL)


def test_the_policy_allows_exactly_what_the_page_brings(result: ProbeResult) -> None:
    page = html_report(result)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy
    allowed = policy[1].replace("&#39;", "'")
    assert allowed.startswith("default-src 'none'")
    for tag in ("style", "script"):
        inside = re.search(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert inside
        digest = base64.b64encode(hashlib.sha256(inside[1].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in allowed
    assert " style=" not in page


def test_the_page_says_verdict_limits_provenance_and_how_to_run_it_again(
    result: ProbeResult,
) -> None:
    page = html_report(result)
    assert page.index('id="verdict"') < page.index('id="limits"') < page.index('id="pairs"')
    for said in (
        *result.templates,
        "0123456789abcdef",
        "mover (2 pieces)",
        "from winobias-majority",
    ):
        assert said in page
    for limit in LIMITS:
        assert limit.split("'")[0].split(">")[0].rstrip("-") in page
    for row in result.rows:
        assert words.signed(row.value) in page
        assert words.ends(row.interval) in page
    assert "Of 8 comparisons, the model exaggerates the base in 4, weakens it in 2" in page
    assert "lmprobe run example/made-up-model" in page


def test_a_page_of_a_whole_probe_is_small_and_quick(made: Callable[..., ProbeResult]) -> None:
    result = made(attributes=("he", "she", "they"))
    html_report(result)
    started = time.process_time()
    page = html_report(result)
    # About half a second of one core; the promise is a second or two.
    assert time.process_time() - started < 2
    assert len(page.encode()) < 1_000_000
    assert page.count("<tr><td>") >= 4 * 2 * 32 * 3


def test_a_page_of_very_many_pairs_keeps_the_largest(made: Callable[..., ProbeResult]) -> None:
    result = made(tasks=[f"t{number}" for number in range(600)], bases=["labor"], templates=["x"])
    page = html_report(result)
    assert f"The {MOST_PAIRS} largest of 2400 pairs" in page
    assert page.count("<tr><td>") <= MOST_PAIRS + 20


def test_the_same_result_gives_the_same_bytes(result: ProbeResult) -> None:
    again = ProbeResult.from_json(result.to_json())
    assert html_report(again) == html_report(result)
    assert markdown_report(again) == markdown_report(result)
    assert model_card(again) == model_card(result)


def test_a_result_with_one_row_and_no_interval_can_be_shown(
    made: Callable[..., ProbeResult],
) -> None:
    whole = made(bases=["labor"], notes=[])
    row = replace(whole.rows[1], interval=Interval(math.nan, math.nan, 0.95, "bootstrap"))
    result = replace(whole, rows=(row,), split_words={})
    assert "no interval" in html_report(result)
    assert "no interval" in printed(result)
    assert "no interval" in markdown_report(result)
    assert "no clear difference" in words.headline(result)


def test_markdown_has_every_row_and_the_limits(result: ProbeResult) -> None:
    text = markdown_report(result)
    assert text.count("| amplifies |") == 4
    assert text.count("\n- ") >= len(LIMITS)
    assert "```sh\nlmprobe run" in text


def test_the_model_card_is_a_model_index(result: ProbeResult) -> None:
    from huggingface_hub import ModelCard

    card = ModelCard(model_card(result))
    assert card.data.model_name == "example/made-up-model"
    found = {
        (one.dataset_config, one.metric_config): one.metric_value for one in card.data.eval_results
    }
    assert found == {(row.base, row.direction): round(row.value, 6) for row in result.rows}
    assert card.data.eval_results == eval_results(result)
    assert card.validate.__name__ == "validate"
    assert "## Bias amplification" in card.text


def test_the_command_repeats_every_choice(result: ProbeResult) -> None:
    chosen = dict(result.provenance["settings"]) | {
        "lean": "winobias",
        "prior": True,
        "missing": "smooth",
        "pseudo_count": 0.25,
        "resample": "tasks",
        "confidence": 0.9,
        "tasks": ["nurse", "it's"],
    }
    facts = dict(result.provenance) | {"settings": chosen, "scorer": "joint", "seed": 7}
    words_of = shlex.split(command(replace(result, provenance=facts)))
    assert words_of[:3] == ["lmprobe", "run", "example/made-up-model"]
    options = " ".join(words_of[3:])
    for said in (
        "--base uniform --base wikipedia --base labor --base corpus",
        "--scorer joint",
        "--lean winobias",
        "--missing smooth --resample tasks --confidence 0.9 --pseudo-count 0.25 --prior",
        "--tasks nurse,it's",
        "--revision 0123456789abcdef",
        "--seed 7",
    ):
        assert said in options


def test_the_command_names_files_that_do_not_come_with_lmprobe(
    made: Callable[..., ProbeResult],
) -> None:
    result = made(bases=["my-table"])
    facts = dict(result.provenance) | {"templates": {"name": "my-set", "sha256": "0"}}
    again = command(replace(result, provenance=facts))
    assert "--base my-table.csv" in again
    assert "--templates my-set.toml" in again


def test_what_an_interval_assumes_is_said_once(result: ProbeResult) -> None:
    said = "bootstrap: 20 templates crossed with 32 tasks are the sample"
    rows = tuple(replace(row, notes=(*row.notes, said)) for row in result.rows)
    noted = replace(result, rows=rows)
    assert words.assumptions(noted) == {said: ["uniform", "wikipedia", "labor", "corpus"]}
    assert said not in str(words.row_notes(noted))
    for report in (html_report(noted), markdown_report(noted)):
        assert report.count(said) == 1


def test_the_headline_is_a_sentence(result: ProbeResult) -> None:
    assert words.headline(result) == (
        "Of 8 comparisons, the model exaggerates the base in 4, weakens it in 2 and shows no clear "
        "difference from it in 2."
    )
    one = replace(result, rows=result.rows[:1])
    assert words.headline(one) == "The model exaggerates the base in one comparison."
    two = replace(result, rows=result.rows[:2])
    assert words.headline(two) == "The model exaggerates the base in all 2 comparisons."


def test_a_note_of_every_row_is_said_once(result: ProbeResult) -> None:
    rows = tuple(replace(row, notes=(*row.notes, "everywhere")) for row in result.rows)
    notes = words.row_notes(replace(result, rows=rows))
    assert notes[""].count("everywhere") == 1
    assert notes["labor"] == ["1 without a column, left out: they"]
    assert notes["wikipedia"] == ["2 of 64 pairs are undefined and not in the mean"]


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (0.01, 0.04, "passed"),
        (0.01, 0.05, "passed"),
        (-0.3, -0.2, "passed"),
        (0.06, 0.08, "failed"),
        (0.05, 0.08, "not enough evidence"),
        (0.04, 0.06, "not enough evidence"),
        (-math.inf, math.inf, "not enough evidence"),
        (math.nan, math.nan, "not enough evidence"),
        (-math.inf, 0.01, "passed"),
    ],
)
def test_the_gate_follows_the_whole_interval(
    result: ProbeResult, low: float, high: float, outcome: str
) -> None:
    row = replace(result.rows[0], interval=Interval(low, high, 0.95, "bootstrap"))
    gate = Gate(row, 0.05)
    assert gate.outcome == outcome
    assert outcome in gate.explanation
    assert gate.to_dict()["outcome"] == outcome


@pytest.fixture
def reproductions() -> list[Reproduction]:
    curve = Series("a|b", (0.0, 1.0), (1.0, 2.0))
    figure = Figure("curve", "A <curve>", "x", "y", (curve,), "it rises")
    lists = Reproduction(
        name="one",
        title="First",
        paper="Paper, Table 1",
        rows=(
            {"name": "a|b", "value": 0.25, "paper": 0.3, "interval": {"low": 0.1, "high": None}},
            {"name": "c", "value": None, "paper": None},
        ),
        notes=("a <note>",),
        figures=(figure,),
    )
    grid = Reproduction(
        name="two",
        title="Second",
        paper="Paper, Figure 2",
        rows=tuple(
            {"name": f"{x}{y}", "value": x * y, "paper": None, "down": x, "across": y}
            for x in (1, 2)
            for y in (0.5, 1.5)
        ),
        figures=(figure,),
        grid=("down", "across"),
    )
    return [lists, grid]


def test_reproductions_print_ours_beside_the_papers(reproductions: list[Reproduction]) -> None:
    (first,) = printed_tables(reproductions[0])
    assert first.heading == ("", "ours", "interval", "paper")
    assert first.rows[0] == ("a|b", "0.2500", "0.1000 to ∞", "0.3000")
    assert first.rows[1] == ("c", "undefined", "–", "–")
    (second,) = printed_tables(reproductions[1])
    assert second.rows == (("1", "0.5000", "1.5000"), ("2", "1.0000", "3.0000"))


def test_the_page_of_reproductions_is_one_file(reproductions: list[Reproduction]) -> None:
    page = reproduction_page(reproductions)
    assert page.count("<svg") == 2
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert "<curve>" not in page
    assert "a &lt;note&gt;" in page


def test_the_markdown_of_reproductions_lists_what_is_out_of_reach(
    reproductions: list[Reproduction],
) -> None:
    text = reproduction_markdown(reproductions)
    assert "| a\\|b | 0.2500 |" in text
    assert "![it rises](images/one-curve.svg)" in text
    for name in ("COCO", "CelebA", "MNLI"):
        assert name in text
    assert all(one.command in text for one in OUT_OF_REACH)


@pytest.mark.parametrize("one", OUT_OF_REACH, ids=lambda one: one.what)
def test_the_commands_for_what_is_out_of_reach_lack_nothing_but_the_data(
    one: OutOfReach, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, shlex.split(one.command)[1:])
    assert isinstance(done.exception, LmprobeError), done.output
    assert re.search("no such file|not found|does not exist", str(done.exception), re.IGNORECASE)


def test_a_result_of_another_schema_is_refused() -> None:
    with pytest.raises(LmprobeError, match=r"lmprobe\.result/0"):
        ProbeResult.from_json('{"schema": "lmprobe.result/0"}')
