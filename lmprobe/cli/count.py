"""`lmprobe count`: makes base rates out of text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lmprobe.cli.options import Json, Output, Quiet, Seed
from lmprobe.errors import DataFileError, InputError

if TYPE_CHECKING:
    from lmprobe.corpus.count import Count
    from lmprobe.corpus.lexicon import Named
    from lmprobe.sources.table import Table


def command(
    corpus: Annotated[
        list[str],
        typer.Argument(
            help="Text (plain, .gz, .zst), JSON Lines, Parquet, a folder, a pattern in quotes, a "
            "dataset saved to disk, hf://NAME?config=CONFIG&split=SPLIT, or - for standard input.",
            show_default=False,
        ),
    ],
    tasks: Annotated[
        str,
        typer.Option(help="A lexicon, a file with a task on each line, or words: nurse,cook"),
    ] = "winobias-32",
    attributes: Annotated[
        str | None,
        typer.Option(
            help="A lexicon, or names with words: 'he=he,him,his;she=she,her,hers'. "
            "Left out: he and she with the words of the rule.",
            show_default=False,
        ),
    ] = None,
    rule: Annotated[str, typer.Option(help="word, paper or pattern.")] = "word",
    plurals: Annotated[
        bool, typer.Option("--plurals", help="Let a task match in the plural.")
    ] = False,
    workers: Annotated[int, typer.Option("--workers", "-w", min=1, help="Processes.")] = 1,
    engine: Annotated[str, typer.Option(help="local, or ray for a cluster.")] = "local",
    field: Annotated[str, typer.Option(help="The field that holds the text of a row.")] = "text",
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Keep the state here; the same command goes on after an interrupt."),
    ] = None,
    name: Annotated[str, typer.Option(help="What the table is called.")] = "counts",
    register: Annotated[
        bool,
        typer.Option("--register", help="Make the table known as --base NAME from now on."),
    ] = False,
    title: Annotated[str | None, typer.Option(help="Provenance: what was counted.")] = None,
    source: Annotated[str | None, typer.Option(help="Provenance: where it is from.")] = None,
    year: Annotated[int | None, typer.Option(help="Provenance: of which year.")] = None,
    licence: Annotated[str | None, typer.Option(help="Provenance: its licence.")] = None,
    output: Output = None,
    json: Json = False,
    quiet: Quiet = False,
    seed: Seed = 0,
) -> None:
    """Count which attributes and tasks go together in text; the table can be used as base.

    Counting involves no chance: --seed changes nothing.

    Example: [bold]lmprobe count wiki.txt --name wiki --output rates[/bold], then
    [bold]lmprobe run --base rates/wiki.csv[/bold]
    """
    from lmprobe.cli.output import note, progress_bar, show_json
    from lmprobe.corpus.count import count, lexicon
    from lmprobe.corpus.plan import joined, plan

    _check_target(name, output)
    words = lexicon(_attributes(attributes, rule), _words(tasks), plurals=plurals)
    planned = joined([plan(one, field=field) for one in corpus])
    try:
        with progress_bar("counting", "MB", quiet=quiet) as bar:
            found = count(
                planned,
                words,
                rule=rule,
                workers=workers,
                engine=engine,
                checkpoint=checkpoint,
                progress=lambda done, total: bar(done // 1_000_000, total // 1_000_000),
            )
    except KeyboardInterrupt:
        if checkpoint is not None:
            note(f"interrupted; the same command goes on from {checkpoint}", quiet=quiet)
        raise
    table = found.table(name, title=title, source=source, year=year, licence=licence)
    files = _write(table, output, register)
    if checkpoint is not None and files:
        checkpoint.unlink(missing_ok=True)
    rate = found.size / 1e6 / max(found.seconds, 1e-9)
    note(f"{found.size / 1e6:,.1f} MB in {found.seconds:.1f} s, {rate:,.0f} MB/s", quiet=quiet)
    for file in files:
        note(f"wrote {file}, use it as --base {name if register else file}", quiet=quiet)
    if json:
        show_json(_document(found, table, files))
    else:
        _show(found)


def _check_target(name: str, output: Path | None) -> None:
    """Refuse, before hours of counting, a table that could not be written or used by name."""
    if not name or name.startswith(".") or name.endswith(".csv") or set(name) & set("/\\"):
        raise InputError(
            f'--name "{name}" must be a name such as wiki: no folder in it, and without .csv'
        )
    if output is not None and output.exists() and not output.is_dir():
        raise InputError(f"--output {output}: this is a file, not a folder")


def _attributes(given: str | None, rule: str) -> Named:
    from lmprobe.corpus.lexicon import ATTRIBUTES, PAPER_ATTRIBUTES

    if given is None:
        return PAPER_ATTRIBUTES if rule == "paper" else ATTRIBUTES
    return _words(given)


def _words(given: str) -> Named:
    """Return the words that an option means: written out, in a text file, or a lexicon."""
    from lmprobe.templates import load_lexicon

    if "=" in given:
        return _named(given)
    if "," in given:
        return _split(given)
    path = Path(given)
    if path.is_file() and path.suffix != ".toml":
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError as problem:
            raise DataFileError(f"{path}: the words are not UTF-8: {problem.reason}") from None
        return [line.strip() for line in lines if line.strip()]
    try:
        entries = load_lexicon(given).entries
    except DataFileError as problem:
        if path.exists():
            raise
        raise InputError(f"{problem}; or write words with a comma, such as nurse,cook") from None
    return {entry.word: (entry.word, *entry.forms.values()) for entry in entries}


def _named(given: str) -> dict[str, list[str]]:
    """Return the words of each name in "name=word,word;name=word"."""
    named: dict[str, list[str]] = {}
    for one in given.split(";"):
        name, _, words = (part.strip() for part in one.partition("="))
        if name in named:
            raise InputError(f'"{name}" appears twice in "{given}"; give all its words at once')
        if name or words:
            named[name] = _split(words)
    return named


def _split(words: str) -> list[str]:
    return [word.strip() for word in words.split(",") if word.strip()]


def _write(table: Table, output: Path | None, register: bool) -> list[Path]:
    from lmprobe.sources import user_folder
    from lmprobe.sources.csv_file import write_table

    folders = [output] if output else []
    folders += [user_folder()] if register else []
    return [write_table(table, folder / f"{table.name}.csv") for folder in folders]


def _document(found: Count, table: Table, files: list[Path]) -> dict[str, Any]:
    return {
        "schema": "lmprobe.count/1",
        "attributes": list(table.attributes),
        "tasks": list(table.tasks),
        "counts": found.counts.astype(int),
        "rows": [
            {"task": task, **dict(zip(table.attributes, map(int, counts), strict=True))}
            for task, counts in zip(table.tasks, found.counts.T, strict=True)
        ],
        "never_counted": list(found.never),
        "rule": found.rule,
        "bytes": found.size,
        "seconds": found.seconds,
        "provenance": dict(table.provenance),
        "files": [str(file) for file in files],
    }


def _show(found: Count) -> None:
    from rich.table import Table as Grid

    from lmprobe.cli.output import show

    grid = Grid("task", box=None)
    for attribute in found.lexicon.attribute_names:
        grid.add_column(attribute, justify="right")
    for task, counts in zip(found.lexicon.task_names, found.counts.T, strict=True):
        grid.add_row(task, *(f"{int(one):,}" for one in counts))
    total = int(found.counts.sum())
    lines: list[Grid | str] = [grid, f"{total:,} sentence{'s' * (total != 1)} counted"]
    if found.never:
        lines.append(f"never counted: {', '.join(found.never)}")
    show(*lines)
