"""`lmprobe count`: counts base rates in a corpus of text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmprobe.cli.options import Json, Output, Quiet, Verbose, option
from lmprobe.errors import InputError, printable
from lmprobe.results.settings import EXPERT, INPUT, OUTPUT

if TYPE_CHECKING:
    from lmprobe.sources.source import BaseTable


def command(
    corpus: Annotated[
        list[str],
        typer.Argument(
            help="Text (plain, .gz, .zst), JSON Lines, Parquet, a folder, a pattern in quotes, a "
            "dataset saved to disk, hf://NAME?config=CONFIG&split=SPLIT, or - for standard input.",
            show_default=False,
            metavar="TEXT...",
        ),
    ],
    tasks: Annotated[
        str | None,
        option(
            "A lexicon, a template set, a file with a task on each line, or words: "
            "nurse,cook. By default the 32 occupations of the paper, in the language.",
            INPUT,
            "--task",
            "--tasks",
            metavar="WORD,WORD",
        ),
    ] = None,
    attributes: Annotated[
        str | None,
        option(
            "A lexicon, a template set, or names with words: "
            "'he=he,him,his;she=she,her,hers'. By default he and she, with the words of the rule "
            "and the language.",
            INPUT,
            "--attribute",
            "--attributes",
            metavar="WORD,WORD",
        ),
    ] = None,
    rule: Annotated[str, option("Which sentences count: see `lmprobe ls rules`.", INPUT)] = "word",
    language: Annotated[
        str,
        option(
            "de, en, es, fr, it, ja, ko, pt, ru or zh; languages other than English need the "
            "rule word.",
            INPUT,
            metavar="CODE",
        ),
    ] = "en",
    plurals: Annotated[bool, option("Match tasks in the plural too.", INPUT, "--plurals")] = False,
    workers: Annotated[
        int, option("Number of processes.", EXPERT, "--workers", "-w", metavar="N", min=1)
    ] = 1,
    engine: Annotated[str, option("Where to count: see `lmprobe ls engines`.", EXPERT)] = "local",
    field: Annotated[str, option("The field or column of the text.", INPUT)] = "text",
    checkpoint: Annotated[
        Path | None,
        option(
            "Save progress here; the same command continues if interrupted.", EXPERT, metavar="FILE"
        ),
    ] = None,
    name: Annotated[str, option("The name of the table.", OUTPUT)] = "counts",
    register: Annotated[
        bool, option("Save the table so that --base NAME finds it.", OUTPUT, "--register")
    ] = False,
    title: Annotated[
        str | None, option("Provenance: what was counted.", OUTPUT, metavar="TEXT")
    ] = None,
    source: Annotated[
        str | None, option("Provenance: where it is from.", OUTPUT, metavar="TEXT")
    ] = None,
    year: Annotated[int | None, option("Provenance: its year.", OUTPUT, metavar="YEAR")] = None,
    licence: Annotated[
        str | None, option("Provenance: its licence.", OUTPUT, metavar="TEXT")
    ] = None,
    output: Output = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Count how often attributes and tasks occur together in text, as a base-rate table.

    Example: [bold]lmprobe count wiki.txt --name wiki --output rates[/bold], then
    [bold]lmprobe run --base rates/wiki.csv[/bold]
    """
    from lmprobe.cli.output import emit, note, progress_bar
    from lmprobe.sources.counting.corpus import joined, plan
    from lmprobe.sources.counting.count import count, count_words
    from lmprobe.sources.counting.lexicon import read_words
    from lmprobe.sources.csv_file import check_labels

    _check_target(name, register)
    words = count_words(
        attributes=None if attributes is None else read_words(attributes, "attribute"),
        tasks=None if tasks is None else read_words(tasks),
        rule=rule, language=language, plurals=plurals,
    )  # fmt: skip
    if output is not None or register:
        check_labels((*words.attribute_names, *words.task_names))
    planned = joined([plan(path, field=field) for path in corpus])
    try:
        with progress_bar("counting", "MB", quiet=quiet) as bar:
            counted = count(
                planned, words, rule=rule, workers=workers, engine=engine, checkpoint=checkpoint,
                progress=lambda done, total: bar(done // 1_000_000, total // 1_000_000),
            )  # fmt: skip
    except KeyboardInterrupt:
        if checkpoint is not None:
            note(f"interrupted; the same command goes on from {checkpoint}", quiet=quiet)
        raise
    table = counted.base_table(name, title=title, source=source, year=year, licence=licence)
    files = _write(table, output, register)
    if checkpoint is not None and files:
        checkpoint.unlink(missing_ok=True)
    hints = [f"wrote {file}, use it as --base {name if register else file}" for file in files]
    result = replace(counted, provenance=table.provenance, files=tuple(map(str, files)))
    emit(result, json=json, output=output, quiet=quiet, verbose=verbose, hints=hints)


def _check_target(name: str, register: bool) -> None:
    """Refuse, before hours of counting, a table that could not be written or used by name."""
    from lmprobe.io.files import base_rates_folder, check_folder

    unusable = name != printable(name) or set(name) & set("/\\")
    if not name or name.startswith(".") or name.endswith(".csv") or unusable:
        raise InputError(
            f'--name "{name}" must be a name such as wiki: one line, no folder in it, no .csv'
        )
    if register:
        check_folder(base_rates_folder(), "register")


def _write(table: BaseTable, output: Path | None, register: bool) -> list[Path]:
    from lmprobe.io.files import base_rates_folder
    from lmprobe.sources.csv_file import write_table

    folders = [output] if output else []
    folders += [base_rates_folder()] if register else []
    return [write_table(table, folder / f"{table.name}.csv") for folder in folders]
