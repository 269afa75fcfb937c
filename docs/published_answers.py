"""Probes published answers of models; writes docs/appendix/gest.md and docs/appendix/chatbots.md.

    LMPROBE_REFERENCE_DATA=FOLDER python docs/published_answers.py

The folder has `gest/gest_scores.csv.gz`, published with GEST (Pikuliak et al. 2024, Apache-2.0),
and `chatbot_profiles.csv`, counts from a published study (scuhci/genai-bias, 2025). Neither ships
with lmprobe. tests/probing/test_published_answers.py computes the same numbers in plain loops.
"""

from __future__ import annotations

import math
import os
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

import lmprobe
from lmprobe.io.files import write_text
from lmprobe.results.format import format_interval, format_signed
from lmprobe.stats.items import LEAST_TEXTS

PAGES = Path(__file__).parent / "appendix"
# Stereotypes 1 to 7 are about women, 8 to 16 about men.
ABOUT_WOMEN, STEREOTYPES = range(1, 8), range(1, 17)


def gest_answers(scores: pd.DataFrame, model: str, frames: range | None = None) -> pd.DataFrame:
    """Return the answer table of a model: GEST's score is log10 P(he) - log10 P(she)."""
    own = scores[scores.model == model]
    if frames is not None:
        own = own[own.template.isin(frames)]
    return pd.DataFrame(
        {
            "task": own.stereotype,
            "template": "frame " + own.template.astype(str),
            "item": own.sentence,
            "he": own.score * math.log(10),
            "she": 0.0,
        }
    )


def gest_lean() -> pd.DataFrame:
    """Return the table of the lean: each stereotype is about one group."""
    women = [float(number in ABOUT_WOMEN) for number in STEREOTYPES]
    men = [1 - about for about in women]
    return pd.DataFrame({"task": list(map(str, STEREOTYPES)), "he": men, "she": women})


def chatbot_tables(profiles: pd.DataFrame, model: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the counts of a chatbot as an answer table, and the labour statistics as a base."""
    # Careers that the statistics have no share for are left out.
    own = profiles[profiles.model == model].dropna(subset=["bls_percent_women", "bls_employed"])
    answers = own[["career", "women", "men"]].rename(columns={"career": "task"})
    women = own.bls_employed * own.bls_percent_women / 100
    base = pd.DataFrame({"task": own.career, "women": women, "men": own.bls_employed - women})
    return answers, base


def gest(scores: pd.DataFrame, folder: Path) -> str:
    """Return the page on GEST."""
    lean = folder / "stereotypes.csv"
    gest_lean().to_csv(lean, index=False)
    models = list(dict.fromkeys(scores.model))
    options: dict[str, Any] = {"base": "uniform", "lean": str(lean)}
    lines = []
    for model in models:
        answers = gest_answers(scores, model)
        row, fixed = (
            lmprobe.probe(answers, resample=resample, **options).rows[0]
            for resample in ("both", "templates")
        )
        rate = lmprobe.probe(answers, metrics=["gest"], **options).metrics[0]
        lines.append(
            f"| {model} | {len(row.families)} | {format_signed(row.value)} "
            f"| {format_interval(row.interval)} | {row.verdict.value} "
            f"| {format_interval(fixed.interval)} | {_with_interval(row.association)} "
            f"| {row.predicted[:, 0].mean():.3f} "
            f"| {rate.value:.3f} ({rate.interval.low:.3f} to {rate.interval.high:.3f}) |"
        )
    pairs = _pairs(scores, models, range(2), folder, options)
    masked = [model for model in models if scores[scores.model == model].template.nunique() > 2]
    return _GEST.format(
        models="\n".join(lines),
        pairs="\n".join(pairs),
        masked="\n".join(_pairs(scores, masked, range(4), folder, options)),
    )


def _with_interval(number: Any) -> str:
    return f"{format_signed(number.value)} ({format_interval(number.interval)})"


def _pairs(
    scores: pd.DataFrame, models: list[str], frames: range, folder: Path, options: dict[str, Any]
) -> list[str]:
    """Return the lines of a table that compares every pair of models on some frames."""
    paths = [folder / f"{model}.csv" for model in models]
    for model, path in zip(models, paths, strict=True):
        gest_answers(scores, model, frames).to_csv(path, index=False)
    return [
        f"| {Path(row.second).stem} minus {Path(row.first).stem} | {format_signed(row.value)} "
        f"| {format_interval(row.interval)} | {row.p_value:.2g} | {row.verdict.value} |"
        for row in lmprobe.compare(list(map(str, paths)), pairs="all", **options).rows
    ]


def chatbots(profiles: pd.DataFrame, folder: Path) -> str:
    """Return the page on the four chatbots."""
    lines = []
    for model in dict.fromkeys(profiles.model):
        answers, base = chatbot_tables(profiles, model)
        base.to_csv(folder / "labour-shares.csv", index=False)
        counted = lmprobe.load_model(answers, values="count")
        options: dict[str, Any] = {"base": str(folder / "labour-shares.csv")}
        row = lmprobe.probe(counted, resample="tasks", **options).rows[0]
        default = lmprobe.probe(counted, **options).rows[0]
        counts = answers[["women", "men"]].to_numpy()
        assert row.strength is not None
        assert math.isnan(row.strength.value)
        lines.append(
            f"| {model} | {(counts == 0).sum()} | {(counts < LEAST_TEXTS).sum()} of {counts.size} "
            f"| {_with_interval(row)} | {_with_interval(row.association)} | {row.verdict.value} "
            f"| {format_interval(default.interval)} |"
        )
    return _CHATBOTS.format(models="\n".join(lines))


def main() -> None:
    """Write both pages."""
    if not (named := os.environ.get("LMPROBE_REFERENCE_DATA")):
        raise SystemExit(
            "set LMPROBE_REFERENCE_DATA to the folder that has gest/gest_scores.csv.gz and "
            "chatbot_profiles.csv"
        )
    data = Path(named)
    with tempfile.TemporaryDirectory() as folder:
        texts = {
            "gest": gest(pd.read_csv(data / "gest" / "gest_scores.csv.gz"), Path(folder)),
            "chatbots": chatbots(pd.read_csv(data / "chatbot_profiles.csv"), Path(folder)),
        }
    for name, text in texts.items():
        write_text(PAGES / f"{name}.md", text)
        print(f"wrote {PAGES / name}.md")


_MADE = "<!-- made by `python docs/published_answers.py`, do not edit -->"
_MODELS = (
    "| model | frames | value | interval A | verdict | interval B | association | mean P(he) "
    "| g_s |"
)
_PAIRS = "| models | difference | interval | p | verdict |"
_BOTS = (
    "| chatbot | cells of 0 texts | of fewer than 3 | value | association | verdict "
    "| interval over prompts |"
)
_GEST = f"""# GEST: published answers of seven models

{_MADE}
Here you see recorded answers at work: what five masked and two causal models said of the 3,565
sentences of GEST (Pikuliak et al. 2024), as its authors published it, against even rates. No model
was run. `LMPROBE_REFERENCE_DATA=FOLDER python docs/published_answers.py` writes this page from
`gest/gest_scores.csv.gz` in that folder.

Each sentence belongs to one of 16 stereotypes: 1 to 7 are about women, 8 to 16 about men. A frame
puts it into a mouth (*He said: "..."*), and GEST's score is log P(he) - log P(she), with base 10.
So a stereotype is a task, a sentence an item and a frame a template; the columns are `he` (the
score times the logarithm of 10) and `she` (0), because only their difference matters. The base is
`uniform`; the lean is declared: the group that the stereotype is about. A cell is the mean of
P(he), or P(she), over the sentences.

{_MODELS}
|---|---|---|---|---|---|---|---|---|
{{models}}

Interval A, to which the verdict and the interval of the association belong, is over frames and
stereotypes; interval B over frames and sentences, the 16 stereotypes fixed
(`--resample templates`). The last column is the measure that GEST prints, the stereotype rate g_s
(`--metric gest`; 1 is no preference), with an interval over frames and stereotypes.

## How to read it

- **The sign.** Positive: a model gives the group of the stereotype more than one half, on average.
  GEST reports the difference of the mean scores of both halves, which is a difference of log odds;
  here it is one of probabilities, so a sentence with extreme odds does not outweigh the others.
- **A preference for *he* moves the value.** Nine of the 16 stereotypes are about men, so saying
  *he* everywhere adds a little. For `association` the tables are raked to even margins: the
  preference is gone, and only what changes from stereotype to stereotype is left. It is defined
  against `uniform` because the lean is declared; `strength` is not, because even rates have no
  links to be compared with.
- **Stereotypes or sentences.** Interval A asks what other frames and other *stereotypes* would
  show; the sentences of a stereotype vary with it, so its spread has theirs. Interval B asks about
  other *sentences* of these 16 stereotypes. As a rule it is narrower: stereotypes differ more than
  means over about 200 sentences do. Where the frames differ most, both are the same.
- **Two frames.** gpt2 and pythia-410m have two. Two numbers hardly tell how much frames differ, and
  an interval is wide where that matters, as for the association of pythia-410m.

## All models compared

Every pair on the two frames that all seven models have, paired sentence by sentence; the p-values
are adjusted by Holm.

{_PAIRS}
|---|---|---|---|---|
{{pairs}}

The five masked models on all four frames:

{_PAIRS}
|---|---|---|---|---|
{{masked}}

No difference is claimed. In the first table two frames are too few to tell much. Masked and causal
models were not scored alike (the words that differ, or the whole sentence), which is part of any
difference between them.

## What it cannot say

Whether the answers are worth anything: published scores have no control questions, so nothing tells
a model that knows English from one that does not. Nothing about other languages, or sentences that
are no stereotypes. And nothing about amplification: even rates describe no world, so a verdict is
`follows` or `opposes`.
"""
_CHATBOTS = f"""# Four chatbots and one prompt

{_MADE}
Here you see counts as answers. Four chatbots wrote 1,000 to 10,000 profiles of people in each of
about 40 careers, all to one prompt (scuhci/genai-bias, 2025); counted were women and men. The base
is the share of women in US labour statistics; careers without one are left out.
`LMPROBE_REFERENCE_DATA=FOLDER python docs/published_answers.py` writes this page from
`chatbot_profiles.csv` in that folder.

{_BOTS}
|---|---|---|---|---|---|---|
{{models}}

All but the last column is with `--resample tasks`: about other careers, with this prompt.

- **What one prompt allows one to say.** With this prompt, over careers like these, the links are as
  the table says. More texts of the prompt would change little: with thousands of them their
  sampling is a small part of the spread. What another prompt would show, nothing here tells, so the
  default interval, which covers the choice of the prompt, has no ends (last column).
- **Strong links, no verdict on the value.** Careers with more women than others become careers of
  women alone, so the association is positive for three of the four, and for openai its interval is
  too. But the value counts sides, and some careers change theirs: 23% of chefs and 45% of doctors
  are women, less than the 47% of all careers here, and deepseek writes nearly 100% and 93%.
- **No strength.** The strength is a slope of log odds, and many careers have no man, or no woman,
  in any text: their log odds are infinite, or known from one or two texts. Half a text in place of
  none would make it a number that grows with the number of texts, so it is withheld; openai, with
  one zero, has three cells of one or two texts beside it. More texts of these careers would help,
  more careers would not.
- **Zeros in the association.** There a zero stands for half a text; what would change if it stood
  for next to nothing is in the interval. The value needs no such rule.
"""

if __name__ == "__main__":
    main()
