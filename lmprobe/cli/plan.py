"""`lmprobe plan`: computes how much data a claim needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from lmprobe.cli.options import Json, Output, Quiet, Verbose, option, settings_options
from lmprobe.probing.settings import PlanSettings
from lmprobe.results.settings import INPUT


@settings_options(PlanSettings)
def command(
    settings: PlanSettings,
    effect: Annotated[
        float | None,
        option("The difference that is to be claimed.", INPUT, "--effect", "-e", metavar="NUMBER"),
    ] = None,
    rows: Annotated[
        int | None,
        option("Number of rows: compute what they can claim.", INPUT, "--rows", "-n", metavar="N"),
    ] = None,
    pilot: Annotated[
        Path | None,
        option("The result.json of a probe: plan its templates.", INPUT, metavar="RESULT"),
    ] = None,
    base: Annotated[
        str | None,
        option("A base-rate table of counts: plan its sentences.", INPUT, "--base", "-b"),
    ] = None,
    json: Json = False,
    output: Output = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Compute how much data a claim needs.

    That is the number of rows for a group disparity, of templates for a probe (--pilot), or of
    sentences for a counted base (--base).

    Examples:

    [bold]lmprobe plan --effect 0.05[/bold]

    [bold]lmprobe plan --effect 0.02 --pilot out/result.json[/bold]

    [bold]lmprobe plan --base wikipedia[/bold]
    """
    from lmprobe.cli.output import emit
    from lmprobe.probing.plan import plan

    result = plan(effect, rows=rows, pilot=pilot, base=base, **settings.to_dict())
    emit(result, json=json, output=output, quiet=quiet, verbose=verbose)
