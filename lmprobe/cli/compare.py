"""`lmprobe compare`: compares models, or saved results, on the same templates."""

from __future__ import annotations

from typing import Annotated

import typer

from lmprobe.cli import options as shared
from lmprobe.probing.settings import CompareSettings


@shared.settings_options(CompareSettings)
def command(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="A B [...]", help="Models, or results saved with `lmprobe run --output`."
        ),
    ],
    templates: shared.Templates = None,
    base: shared.Base = None,
    *,
    settings: CompareSettings,
    no_cache: shared.NoCache = False,
    json: shared.Json = False,
    output: shared.Output = None,
    quiet: shared.Quiet = False,
    verbose: shared.Verbose = False,
) -> None:
    """Compare models by paired differences: every model with the first, or all pairs.

    The difference is the value of the second model minus that of the first; the verdict says
    whether it is higher or lower, and which model is nearer to the base. The table of tasks lists
    the largest differences, with intervals that cover all tasks at once. Flips are the share of
    cells (template and task) in which the favoured group changes; clear flips are far from even.

    Examples:

    [bold]lmprobe compare reference:faithful reference:amplified --base labor[/bold]

    [bold]lmprobe compare old/result.json new/result.json[/bold]
    """
    from lmprobe.cli.output import emit, progress_bar
    from lmprobe.errors import InputError
    from lmprobe.probing.compare import compare

    if templates and len(templates) > 1:
        raise InputError(f"a comparison takes one template set, found {', '.join(templates)}")
    with progress_bar("probing", "sentences", quiet=quiet) as progress:
        result = compare(
            models,
            templates[0] if templates else None,
            base or None,
            **settings.to_dict(),
            cache=not no_cache,
            progress=progress,
        )
    emit(result, json=json, quiet=quiet, verbose=verbose, output=output)
