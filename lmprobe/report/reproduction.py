"""The reproductions as tables and as Markdown, with what no one can reproduce from here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmprobe.report.markdown import escaped, fenced, table
from lmprobe.reproduce.experiment import Reproduction


@dataclass(frozen=True, slots=True)
class Printed:
    """A table as it is printed; the first column names the line, the others are numbers."""

    heading: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class OutOfReach:
    """A published experiment that needs data which we may not, or cannot, pass on."""

    what: str
    why: str
    command: str
    """How to run it with the data at hand: a table with one row per example."""


OUT_OF_REACH = (
    OutOfReach(
        "Wang & Russakovsky 2021, Table 1 and Table 3: COCO with masked people",
        "needs the COCO images, their captions, and three trained ResNet-18",
        "lmprobe amplify coco.parquet -a gender -t bicycle --score bicycle_score "
        "--attribute-prediction gender_predicted --train coco-train.parquet",
    ),
    OutOfReach(
        "Wang & Russakovsky 2021, Figure 3: captions of the Equalizer model",
        "needs the COCO images and the captions that the model wrote",
        "lmprobe amplify captions.parquet -a gender -t umbrella -p umbrella_said "
        "--attribute-prediction gender_said",
    ),
    OutOfReach(
        "Wang & Russakovsky 2021, Figure 4: consistency on CelebA",
        "needs the CelebA images and models trained five times for each setting",
        "lmprobe amplify celeba.parquet -a male -t smiling --score smiling_score "
        "--train celeba-train.parquet",
    ),
    OutOfReach(
        "Wang & Russakovsky 2021, Table 2, the row of Wikipedia as it was",
        "needs WikiText-103; the row above is from the counts of WikiText-2 that come with lmprobe",
        "lmprobe count wikitext-103.txt --rule paper --output counts",
    ),
    OutOfReach(
        "Ethayarajh 2020, Figure 1 and Table 1, on MNLI itself",
        "needs the five annotators' labels; above, populations with the same mean costs stand in",
        "lmprobe disparity mnli.csv --prediction disagreement --group genre "
        "--protected government --method bernstein",
    ),
    OutOfReach(
        "Wang et al. 2019, Tables 1 to 5 and Figures 3 to 7, all that looks at images",
        "needs the COCO and imSitu images and models trained on them; what the labels of imSitu "
        "leak is reproduced from counts",
        "lmprobe leak predictions.parquet --attribute gender --labels bicycle --labels umbrella "
        "--predictions bicycle_logit --predictions umbrella_logit --split split",
    ),
)


def printed_tables(done: Reproduction) -> list[Printed]:
    """Return the tables of one reproduction: its grid, and what the paper printed beside ours."""
    if done.grid is None:
        return [_list(done.rows, done.columns)]
    compared = [row for row in done.rows if row.get("paper") is not None]
    tables = [_grid(done.rows, *done.grid)]
    return [*tables, _list(compared, done.columns)] if compared else tables


def reproduction_markdown(reproductions: Sequence[Reproduction], images: str = "images") -> str:
    """Return docs/reproduction.md: every experiment, then what is out of reach.

    `images` is the folder, beside the page, of the figures' SVG files (see `image_name`).
    """
    lines = [
        "# Reproduction",
        "",
        "<!-- made by `make docs`, do not edit -->",
        "Published experiments, run again by `lmprobe reproduce all`: ours beside what the papers "
        "printed. A dash means that the paper printed no number.",
        "",
    ]
    for done in reproductions:
        lines += _section(done, images)
    lines += [
        "## What cannot be reproduced here",
        "",
        "These need images, annotations or trained models that are not ours to pass on. With the "
        "data at hand, a table with one row per example is enough; the names of files and columns "
        "below are examples.",
        "",
    ]
    for one in OUT_OF_REACH:
        lines += [f"**{escaped(one.what)}**: {escaped(one.why)}.", ""]
        lines += [*fenced(one.command, "sh"), ""]
    return "\n".join(lines)


def image_name(done: Reproduction, figure: str) -> str:
    """Return the file name of a figure."""
    return f"{done.name}-{figure}.svg"


def _section(done: Reproduction, images: str) -> list[str]:
    lines = [f"## {escaped(done.title)}", "", escaped(done.paper), ""]
    lines += [*fenced(f"lmprobe reproduce {done.name}", "sh"), ""]
    for printed in printed_tables(done):
        columns = range(1, len(printed.heading))
        lines += [*table(printed.heading, printed.rows, numbers=columns), ""]
    lines += [f"- {escaped(note)}" for note in done.notes]
    lines += [""] if done.notes else []
    for figure in done.figures:
        path = f"{images}/{image_name(done, figure.name)}"
        lines += [f"![{escaped(figure.alternative)}]({path})", ""]
    return lines


def _list(rows: Iterable[Mapping[str, Any]], columns: Sequence[tuple[str, str]]) -> Printed:
    lines = list(rows)
    bounded = [("interval", "interval")] if any(row.get("interval") for row in lines) else []
    shown = list(columns) or [("ours", "value"), *bounded, ("paper", "paper")]
    return Printed(
        ("", *(heading for heading, _ in shown)),
        tuple((str(row["name"]), *(_cell(row.get(key), key) for _, key in shown)) for row in lines),
    )


def _grid(rows: Sequence[Mapping[str, Any]], down: str, across: str) -> Printed:
    columns = list(dict.fromkeys(row[across] for row in rows))
    cells = {(row[down], row[across]): row["value"] for row in rows}
    return Printed(
        (down, *map(str, columns)),
        tuple(
            (str(line), *(_number(cells.get((line, column)), "undefined") for column in columns))
            for line in dict.fromkeys(row[down] for row in rows)
        ),
    )


def _cell(value: Any, key: str) -> str:
    if isinstance(value, Mapping):
        return f"{_number(value['low'], '−∞')} to {_number(value['high'], '∞')}"
    return _number(value, "undefined" if key == "value" else "–")


def _number(value: Any, nothing: str) -> str:
    if value is None or value != value:
        return nothing
    if isinstance(value, float):
        written = f"{value:.4f}" if abs(value) < 1000 else f"{value:,.1f}"
        return written.replace("-", "−")
    return f"{value:,}" if isinstance(value, int) else str(value)
