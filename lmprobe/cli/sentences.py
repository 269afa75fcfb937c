"""`lmprobe sentences`: shows or writes the sentences of a template set."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from lmprobe.cli.options import Json, Quiet, option, settings_options
from lmprobe.io.table_files import FORMAT_NAMES
from lmprobe.probing.settings import WordSettings
from lmprobe.results.settings import COMPARED, OUTPUT


@settings_options(WordSettings)
def command(
    templates: Annotated[
        str,
        option(
            "A template set of `lmprobe ls templates`, a TOML file, or an item table.",
            COMPARED,
            "--templates",
            "-t",
        ),
    ] = "fitbert",
    *,
    settings: WordSettings,
    every: Annotated[
        bool, option("Print all sentences instead of a few.", OUTPUT, "--all")
    ] = False,
    output: Annotated[
        Path | None,
        option(
            f"Write all sentences as an item table ({FORMAT_NAMES}).",
            OUTPUT,
            "--output",
            "-o",
            metavar="FILE",
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show the sentences of a template set as a probe scores them, or write them to a table.

    A few are printed, from all parts of the set: read them before you probe with a set of your
    own. The table has a row for each template and task, and a column of sentences for each
    attribute, so that any program can score it.

    Examples:

    [bold]lmprobe sentences --templates everyday[/bold]

    [bold]lmprobe sentences --templates my_set.toml --output items.csv[/bold]
    """
    from lmprobe.cli.output import note, show_json
    from lmprobe.errors import printable
    from lmprobe.io.table_files import write_table
    from lmprobe.results.format import plural
    from lmprobe.templates import load_templates

    template_set = load_templates(templates).with_words(settings.attributes, settings.tasks)
    table = None if output is None else template_set.item_table()
    if json:
        show_json(
            {
                "templates": template_set.name,
                "sha256": template_set.sha256,
                "own_words": template_set.own_words,
                "sentences": [
                    {
                        key: value
                        for key, value in asdict(sentence).items()
                        if key != "turn" or value
                    }
                    for sentence in template_set.sentences()
                ],
            }
        )
    elif table is None or every:
        for sentence in template_set.sentences() if every else template_set.some_sentences():
            turn = f"{sentence.turn} > " if sentence.turn else ""
            typer.echo(printable(turn + sentence.text))
        if not every:
            items = len(getattr(template_set, "items", ()))
            of_set = plural(len(template_set.template_names), "template")
            note(
                f"some of {plural(template_set.size, 'sentence')}: "
                f"{plural(items, 'item') if items else of_set}, "
                f"{plural(len(template_set.attributes), 'attribute')}, "
                f"{plural(len(template_set.tasks), 'task')}; print all with --all, write them with "
                "--output items.csv",
                quiet=quiet,
            )
    if table is not None and output is not None:
        write_table(table, output)
        note(
            f"wrote {template_set.size:,} sentences in {len(table):,} rows to {output}", quiet=quiet
        )
