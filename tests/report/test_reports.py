"""The forms of a report: what they say, that they stand alone, that they stay readable."""

from __future__ import annotations

import base64
import hashlib
import math
import re
import shlex
from collections.abc import Callable
from dataclasses import replace

from rich.console import Console

from lmprobe.probing.model_card import eval_results, model_card
from lmprobe.probing.page import LIMITS
from lmprobe.probing.result import ProbeResult
from lmprobe.probing.settings import run_again
from lmprobe.report.terminal import note_list, page_summary
from lmprobe.results import Interval
from lmprobe.results.format import format_interval, format_signed


def printed(result: ProbeResult, width: int = 80) -> str:
    console = Console(width=width, highlight=False, color_system=None)
    page = result.page()
    with console.capture() as captured:
        console.print(page_summary(page, result.tables()))
        console.print(note_list(page.notes))
    return captured.get()


def test_the_table_fits_80_columns_and_says_everything(result: ProbeResult) -> None:
    text = printed(result)
    assert max(len(line) for line in text.splitlines()) <= 80
    for row in result.rows:
        (line, *_) = [
            splitline
            for splitline in text.splitlines()
            if format_interval(row.interval) in splitline
        ]
        assert line.split()[:3] == [row.base, row.direction, format_signed(row.value)]
        assert row.verdict.label.split()[0] in line
    assert "2 of 64" in text
    assert "left out: they" in text
    assert "scored whole: mover (2), cashier (2)" in text


def test_the_page_stands_alone(result: ProbeResult) -> None:
    page = result.to_html()
    assert not re.findall(r"""(?:src|href)=["'](?!#)""", page)
    assert not re.findall(r"@import|url\(", page)
    assert re.search("<style>.*prefers-color-scheme: dark", page, re.DOTALL)


def test_the_policy_allows_exactly_what_the_page_brings(result: ProbeResult) -> None:
    page = result.to_html()
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
    page = result.to_html()
    for said in (*result.templates, "0123456789abcdef", "mover (2 pieces)"):
        assert said in page
    for limit in LIMITS:
        assert limit.split("'")[0].split("task->")[0] in page
    for row in result.rows:
        assert format_signed(row.value) in page
        assert format_interval(row.interval) in page
    assert "lmprobe run example/made-up-model" in page


def test_a_page_of_very_many_pairs_or_templates_stays_readable(
    made: Callable[..., ProbeResult],
) -> None:
    """At most 500 dots a strip, each with how many values it stands for; all are in the JSON."""
    tasks = [f"t{number}" for number in range(600)]
    page = made(tasks=tasks, bases=["labor"], templates=["x"]).to_html()
    assert "The first 2,000 of 2,400 rows" in page
    assert page.count("<tr>") <= 2020
    sentences = [f"[pronoun] is a word{number} [task]." for number in range(10_000)]
    page = made(tasks=("nurse", "cook"), bases=("labor",), templates=sentences).to_html()
    assert len(page) < 2_000_000
    assert "20 values, " in page


def test_the_same_result_gives_the_same_bytes(result: ProbeResult) -> None:
    again = ProbeResult.from_json(result.to_json())
    assert again.to_html() == result.to_html()
    assert again.to_markdown() == result.to_markdown()
    assert model_card(again) == model_card(result)


def test_a_result_with_one_row_and_no_interval_can_be_shown(
    made: Callable[..., ProbeResult],
) -> None:
    whole = made(bases=["labor"], notes=[])
    row = replace(whole.rows[1], interval=Interval(math.nan, math.nan, 0.95, "bootstrap"))
    result = replace(whole, rows=(row,), split_words={})
    for text in (result.to_html(), printed(result), result.to_markdown()):
        assert "no interval" in text


def test_the_model_card_is_a_model_index(result: ProbeResult) -> None:
    from huggingface_hub import ModelCard

    card = ModelCard(model_card(result))
    assert card.data.model_name == "example/made-up-model"
    actual = {
        (eval_result.dataset_config, eval_result.metric_config): eval_result.metric_value
        for eval_result in card.data.eval_results
    }
    assert actual == {(row.base, row.direction): round(row.value, 6) for row in result.rows}
    assert card.data.eval_results == eval_results(result)
    assert {eval_result.task_type for eval_result in card.data.eval_results} == {"fill-mask"}
    causal = replace(result, provenance={**result.provenance, "kind": "causal"})
    assert {eval_result.task_type for eval_result in eval_results(causal)} == {"text-generation"}


def test_the_command_repeats_every_choice(result: ProbeResult) -> None:
    selected = {
        "lean": "winobias", "prior": True, "missing": "smooth", "pseudo_count": 0.25,
        "resample": "tasks", "confidence": 0.9, "tasks": ["nurse", "it's"],
    }  # fmt: skip
    selected = result.provenance["settings"] | selected
    facts = dict(result.provenance) | {"settings": selected, "scorer": "joint", "seed": 7}
    words_of = shlex.split(run_again(replace(result, provenance=facts)))
    assert words_of[:3] == ["lmprobe", "run", "example/made-up-model"]
    options = " ".join(words_of[3:])
    for said in (
        "--base uniform --base wikipedia --base labor --base corpus",
        "--scorer joint",
        "--lean winobias",
        "--prior --missing smooth --pseudo-count 0.25 --resample tasks --confidence 0.9",
        "--task nurse,it's",
        "--revision 0123456789abcdef",
        "--seed 7",
    ):
        assert said in options
