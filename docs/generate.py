"""Writes the generated pages: `python docs/generate.py NAME...`.

Names: cli, api, appendix/life-of-a-sentence, help, reproduction, coverage, notebook, picture,
training; help is the texts of `--help` in tests/cli/golden.

Without a name it writes all but the picture of the README, which needs Chromium, and the training
curve of docs/appendix/reference-models.md, for which a model is trained.

tests/docs/test_pages.py and tests/cli/test_help.py fail when a text and its generator disagree.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

import lmprobe
from lmprobe.cli.help import default_of
from lmprobe.cli.main import app
from lmprobe.results import Section

DOCS = Path(__file__).parent
HELP_TEXTS = DOCS.parent / "tests" / "cli" / "golden"
MADE = "<!-- made by `make docs`, do not edit -->"
BEGIN, END = "<!-- generated: do not edit below -->", "<!-- end of the generated part -->"


_OUTPUT = {"--json", "--output", "--quiet", "--verbose"}


def cli() -> str:
    """Return the help of every command, from the program itself.

    An option that reads the same in several commands is described once, in front.
    """
    group: Any = typer.main.get_command(app)
    # The group lists stubs of its commands; asking for one by name imports it with its options.
    commands = {name: group.get_command(None, name) for name in sorted(group.commands)}
    options = {
        name: {_names(param)[0]: _option(param) for param in command.params if param.name != "help"}
        for name, command in commands.items()
    }
    uses = Counter(row for rows in options.values() for row in rows.items())
    shared = {item for item, number in uses.items() if number > 1 and item[0].startswith("-")}
    every = ", ".join(f"`{name}`" for name in sorted(_OUTPUT))
    lines = ["## Options of several commands", ""]
    lines += [f"Every command that computes takes {every}.", ""]
    lines += [row for _, row in sorted(shared)]
    lines.append("")
    for name, command in commands.items():
        lines += [f"## lmprobe {name}", "", _prose(command.help or ""), ""]
        own = [item[1] for item in options[name].items() if item not in shared]
        if own:
            lines += [*own, ""]
        others = [first for first, row in options[name].items() if (first, row) in shared]
        if _OUTPUT.issubset(others):
            others = [first for first in others if first not in _OUTPUT]
        if others:
            lines += [f"Also: {', '.join(f'`{first}`' for first in others)}.", ""]
    return "\n".join(lines)


def _prose(text: str) -> str:
    """Return help as Markdown: what is bold in a terminal is an example, one line each."""
    joined = re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.cleandoc(text))
    return re.sub(r"\[bold\](.*?)\[/bold\]", r"`\1`", joined)


def _names(option: Any) -> list[str]:
    if option.opts[0].startswith("-"):
        return [*option.opts, *option.secondary_opts]
    return [option.name]


def _option(option: Any) -> str:
    given = default_of(option)
    default = "" if given is None else f" Default: `{given}`."
    needed = " Required." if option.required else ""
    said = re.sub(r"\s+", " ", option.help or "").strip().replace("<", "&lt;")
    said = said if not said or said.endswith((".", "?", "!")) else f"{said}."
    names = ", ".join(f"`{name}`" for name in _names(option))
    return f"- {names}: {said}{default}{needed}"


def help_texts() -> dict[str, str]:
    """Return what `--help` prints at 80 columns, by command; `lmprobe` is that of the program."""
    from typer.testing import CliRunner

    group: Any = typer.main.get_command(app)
    words = {"lmprobe": ["--help"]} | {name: [name, "--help"] for name in group.commands}
    runner = CliRunner(env={"COLUMNS": "80"})
    return {name: runner.invoke(app, call).stdout for name, call in words.items()}


def write_help_texts() -> None:
    """Write the help texts that tests/cli/test_help.py compares, and remove those of no command."""
    HELP_TEXTS.mkdir(exist_ok=True)
    texts = help_texts()
    for path in HELP_TEXTS.glob("*.txt"):
        if path.stem not in texts:
            path.unlink()
    for name, text in texts.items():
        (HELP_TEXTS / f"{name}.txt").write_text(text, encoding="utf-8")
    print(f"wrote {HELP_TEXTS}")


def api() -> str:
    """Return every public name by topic, with the first line of its docstring.

    The topics are the pages of docs/reference.
    """
    lines = []
    for path in sorted((DOCS / "reference").glob("*.rst")):
        page = path.read_text(encoding="utf-8")
        title = page.splitlines()[0]
        names = re.findall(r"^\.\. auto(?:function|class):: lmprobe\.(\w+)$", page, re.MULTILINE)
        lines += [f"## {title}", "", f"[Parameters and attributes](reference/{path.name})", ""]
        lines += [f"- `{name}`: {_first_line(getattr(lmprobe, name))}" for name in names]
        lines.append("")
    return "\n".join(lines)


def _first_line(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").splitlines()[0].replace("<", "&lt;")


def reproduction(
    images: Path | None = DOCS / "images", *, without: tuple[str, ...] = ()
) -> dict[str, str]:
    """Return the pages on reproduction by name, and leave the figures in the folder, if any.

    `without` leaves experiments out: one that takes minutes need not hold up every test.
    """
    from lmprobe.io.files import write_text
    from lmprobe.report.charts import svg
    from lmprobe.report.markup import section_lines
    from lmprobe.reproduce.experiment import LIMITS, ReproductionSet, in_order, reproduce
    from lmprobe.reproduce.settings import ExperimentSettings

    # The bundled model, so that the page does not depend on what this machine can download.
    settings = ExperimentSettings(model="reference:amplified")
    names = [name for name in in_order() if name not in without]
    results = ReproductionSet(tuple(reproduce(name, settings) for name in names))
    page = results.page()
    for figure in page.figures if images else ():
        write_text(images / f"{figure.name}.svg", svg(figure) + "\n")
    summary, *sections, out_of_reach = page.sections
    main, details = [], []
    for result, section in zip(results.experiments, sections, strict=True):
        full = replace(section, notes=result.notes)
        shown = _without_details(full)
        if not result.tally.printed:
            # There is nothing to compare: the finding and the figures are enough here.
            shown = replace(shown, tables=())
        main += section_lines(shown, images="images")
        details += section_lines(replace(full, text=(), figures=()))
    pages = {
        "reproduction": "\n".join([
            "# Reproduction",
            "",
            "Explanation. After this page you know which published numbers lmprobe reproduces; "
            "`lmprobe reproduce all` runs every experiment again. "
            + " ".join(f"**{statement.text}**" for statement in page.headline),
            "",
            MADE,
            "",
            *section_lines(replace(summary, title="")),
            " ".join(LIMITS),
            "All columns, tables and notes are in the "
            "[details of the reproductions](appendix/reproduction-details.md); on a terminal, "
            "`--verbose` shows them.",
            "",
            *main,
            *section_lines(out_of_reach),
        ]),
        "appendix/reproduction-details": "\n".join([
            "# Details of the reproductions",
            "",
            MADE,
            "After this page you can check a number of [reproduction](../reproduction.md): it has "
            "all columns, tables and notes of the experiments.",
            "",
            *details,
        ]),
    }  # fmt: skip
    # The words are ours: what stands between backticks is code.
    return {name: re.sub(r"\\`([^`]+)\\`", r"`\1`", page) for name, page in pages.items()}


def _without_details(section: Section) -> Section:
    return replace(
        section,
        tables=tuple(table.without_details() for table in section.tables if not table.detail),
        notes=tuple(note for note in section.notes if not note.kind.is_detail),
    )


def picture() -> None:
    """Leave the picture of the README, the top of a report, in docs/images; needs Chromium."""
    result = lmprobe.probe("reference:amplified", base=["uniform", "labor"])
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        page.write_text(result.to_html(), encoding="utf-8")
        flags = "--headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1200,1180"
        target = DOCS / "images" / "report.png"
        target.parent.mkdir(exist_ok=True)
        subprocess.run(
            [
                "chromium",
                *flags.split(),
                f"--user-data-dir={folder}/profile",
                f"--screenshot={target}",
                page.as_uri(),
            ],
            check=True,
            capture_output=True,
        )
    print(f"wrote {target}")


def training() -> None:
    """Train the masked reference model, sweep its states, and leave the curve in the appendix."""
    from lmprobe.io.files import write_text
    from lmprobe.report.charts import svg

    sys.path.insert(0, str(DOCS.parent))
    from tools.reference.train import train

    with tempfile.TemporaryDirectory() as folder:
        train("amplified", checkpoints=10, folder=Path(folder))
        result = lmprobe.sweep([], checkpoints=folder, output=Path(folder) / "sweep")
    for figure in result.figures():
        if figure.name.startswith("steps-"):
            write_text(DOCS / "images" / f"{figure.name}.svg", svg(figure) + "\n")
    path = DOCS / "appendix" / "reference-models.md"
    write_text(path, between(path.read_text(encoding="utf-8"), training_part(result)))
    print(f"wrote {path}")


def training_part(result: Any) -> str:
    """Return the table and the pictures of a sweep over checkpoints, as Markdown."""
    from lmprobe.results.format import format_interval, format_signed

    lines = []
    for curve in result.curves:
        direction, rows = curve.question.direction, result.of(curve.question)
        expected = ", ".join(
            f"{name} {format_signed(level)}" for name, level in curve.levels.items()
        )
        lines += [f"**{direction}** against `{curve.question.base}` ({expected}):", ""]
        lines += ["| step | value | simultaneous band | association |", "|---|---|---|---|"]
        lines += [
            f"| {row.step:,} | {format_signed(row.estimate.value)} | {format_interval(ends)} "
            f"| {format_signed(row.association.value)} |"
            for row, ends in zip(rows, curve.band, strict=True)
        ]
        lines += [
            "",
            f"![{direction} over training](../images/steps-{curve.question.slug}.svg)",
            "",
        ]
    return "\n".join(lines)


def life() -> str:
    """Return the modules and the frames that two commands execute, from a trace of each."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "people.csv"
        table.write_text("gender,cooks,cooks_predicted\n" + "woman,1,0\nman,0,0\nman,1,1\n" * 4)
        sentence = "run reference:amplified --templates fitbert --base labor --no-cache --output"
        row = "--attribute gender --task cooks --task-prediction cooks_predicted"
        for title, words in {
            "a sentence (`lmprobe run`)": [*sentence.split(), f"{folder}/out"],
            "a row (`lmprobe amplify`)": ["amplify", str(table), *row.split()],
        }.items():
            command = [sys.executable, str(DOCS / "trace.py"), *words, "--quiet"]
            # A model that was opened before is not looked at again.
            cache = os.environ | {"LMPROBE_CACHE": f"{folder}/cache"}
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=cache)
            traced = json.loads(done.stdout.splitlines()[-1])
            rooms: dict[str, list[str]] = {}
            for module in traced["modules"]:
                room, _, name = module.rpartition("/")
                rooms.setdefault(room, []).append(f"`{name}`")
            lines += [f"**{len(traced['modules'])} modules execute for {title}:**", ""]
            lines += [
                f"- `{room or 'lmprobe'}/`: {', '.join(names)}" for room, names in rooms.items()
            ]
            lines.append("")
            if frames := traced["frames"]:
                names = [frame.partition(": ")[0] for frame in frames]
                inner = frames[names.index("cli/run.py") + 1 :]
                lines += [f"**{len(inner)} frames from the command to the network:**", ""]
                lines += [f"{number}. `{frame}`" for number, frame in enumerate(inner, 1)]
                lines.append("")
    return "\n".join(lines)


def coverage() -> None:
    """Run every coverage study and leave docs/appendix/coverage.md; takes tens of minutes."""
    page = str(DOCS / "appendix" / "coverage.md")
    words = [sys.executable, "-m", "benchmarks.coverage", "--output", page]
    subprocess.run(words, cwd=DOCS.parent, check=True)


NOTEBOOK: tuple[tuple[str, str], ...] = (
    (
        "markdown",
        "# From a probe to a paper\n\n"
        "Tutorial. After this page you can take a result in a notebook to the tables and figures "
        "of a paper. The file is `docs/notebook.ipynb` of the repository.",
    ),
    (
        "code",
        "import lmprobe\n\n"
        'result = lmprobe.probe("reference:amplified", base=["uniform", "labor"])\n'
        "result",
    ),
    (
        "markdown",
        "Every row has a value, an interval and a verdict; `to_frame()` and `pairs()` are tidy "
        "data frames.",
    ),
    (
        "code",
        'row = result.row("labor", "T->A")\n'
        "round(row.value, 4), row.interval.status.value, row.verdict.value",
    ),
    (
        "code",
        'result.to_frame()[["base", "direction", "value", "low", "high", "verdict"]].round(4)',
    ),
    (
        "markdown",
        "Figures are drawn when asked for, and saved as SVG; PNG and PDF need the extra `figures`.",
    ),
    ("code", "[figure.name for figure in result.figures()]"),
    ("code", 'result.figure("tasks-labor-she")'),
    (
        "code",
        'for form in ("svg", "png", "pdf"):\n'
        '    print(result.figure("intervals-task_to_attribute").save(f"intervals.{form}"))',
    ),
    ("markdown", "Tables for a paper, with the rules of booktabs:"),
    ("code", 'print(result.to_latex("verdicts"))'),
    ("markdown", "And the whole report, to send or to keep:"),
    ("code", 'sorted(path.name for path in result.save("out").values())'),
)
"""The cells of docs/notebook.ipynb."""


def executed_notebook() -> Any:
    """Return docs/notebook.ipynb, executed: from a probe to its figures and LaTeX."""
    import nbformat
    from nbclient import NotebookClient

    make = {"markdown": nbformat.v4.new_markdown_cell, "code": nbformat.v4.new_code_cell}
    cells = [
        make[kind](source, id=f"cell-{number}") for number, (kind, source) in enumerate(NOTEBOOK)
    ]
    book = nbformat.v4.new_notebook(cells=cells)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(
            book, resources={"metadata": {"path": folder}}, timeout=300, startup_timeout=300
        ).execute()
    # When it ran, and by which Python, would change the file with every run.
    book.metadata = nbformat.from_dict({"language_info": {"name": "python"}})
    for cell in book.cells:
        cell.metadata = nbformat.from_dict({})
        if "outputs" in cell:
            cell.outputs = _tidied(cell.outputs)
    return book


def _tidied(outputs: list[Any]) -> list[Any]:
    """Return a cell's outputs without warnings of this machine, what was printed in one piece."""
    tidy: list[Any] = []
    for output in outputs:
        if output.get("name") == "stderr":
            continue
        if tidy and output.get("name") == "stdout" == tidy[-1].get("name"):
            tidy[-1].text += output.text
        else:
            tidy.append(output)
    return tidy


def notebook() -> None:
    """Write docs/notebook.ipynb with its outputs."""
    import nbformat

    nbformat.write(executed_notebook(), DOCS / "notebook.ipynb")
    print(f"wrote {DOCS / 'notebook.ipynb'}")


def between(page: str, part: str) -> str:
    """Return the page with its generated part replaced."""
    head, rest = page.split(BEGIN)
    _, tail = rest.split(END)
    return f"{head}{BEGIN}\n\n{part}\n{END}{tail}"


PARTS = {"cli": cli, "api": api, "appendix/life-of-a-sentence": life}
"""What writes the generated part of a page."""


def _page_of(name: str) -> str:
    """Return a page with its generated part written anew."""
    return between((DOCS / f"{name}.md").read_text(encoding="utf-8"), PARTS[name]())


def main(wanted: list[str]) -> None:
    """Write the pages that were asked for, or all."""
    for name in wanted or [*PARTS, "help", "reproduction", "coverage", "notebook"]:
        writers = {
            "picture": picture,
            "help": write_help_texts,
            "coverage": coverage,
            "notebook": notebook,
            "training": training,
        }
        if name in writers:
            writers[name]()
            continue
        pages = reproduction() if name == "reproduction" else {name: _page_of(name)}
        for stem, text in pages.items():
            path = DOCS / f"{stem}.md"
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path}")


if __name__ == "__main__":
    main(sys.argv[1:])
