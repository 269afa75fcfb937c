"""`lmprobe check`: a gate for releases; its exit code says what the interval allows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmprobe.cli.options import Json, Quiet

if TYPE_CHECKING:
    from lmprobe.result import ProbeResult, ProbeRow

# 2 is for mistakes in the input, as everywhere.
EXIT_CODES = {"passed": 0, "failed": 1, "not enough evidence": 3}


def command(
    result: Annotated[
        Path, typer.Argument(metavar="RESULT.json", help="What `lmprobe run --output` left.")
    ],
    largest: Annotated[
        float, typer.Option("--max", help="The largest amplification that is allowed.")
    ],
    direction: Annotated[
        str | None,
        typer.Option("--direction", help="task->attribute or attribute->task; both if not given."),
    ] = None,
    base: Annotated[
        list[str] | None,
        typer.Option("--base", "-b", help="A base of the result; every one if not given."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Hold a saved result against a limit.

    Exit code 0: the whole interval is at or below the limit. 1: the whole interval is
    above it. 3: the interval holds the limit, there is not enough evidence. 2: the input is
    wrong. Of several rows, one that fails decides, then one without enough evidence.

    Example: [bold]lmprobe check out/result.json --max 0.05 --direction 'task->attribute'
    --base labor[/bold]
    """
    import math

    from lmprobe.cli.output import show_json
    from lmprobe.errors import InputError
    from lmprobe.report.gate import Gate
    from lmprobe.result import ProbeResult

    if not math.isfinite(largest):
        raise InputError(f"--max must be a number, found {largest}")
    rows = _rows(ProbeResult.from_json(result), base or [], direction)
    gates = [Gate(row, largest) for row in rows]
    outcomes = [gate.outcome for gate in gates]
    worst = next(one for one in ("failed", "not enough evidence", "passed") if one in outcomes)
    if json:
        document = {"schema": "lmprobe.check/1", "outcome": worst, "exit_code": EXIT_CODES[worst]}
        show_json(document | {"rows": [gate.to_dict() for gate in gates]})
    elif not quiet:
        for gate in gates:
            typer.echo(gate.explanation)
    raise typer.Exit(EXIT_CODES[worst])


def _rows(result: ProbeResult, bases: list[str], direction: str | None) -> list[ProbeRow]:
    """Return the rows that were asked for, or say which there are."""
    from lmprobe.errors import InputError, did_you_mean

    known = {"base": {row.base for row in result.rows}}
    known["direction"] = {str(row.direction) for row in result.rows}
    asked = [("base", base) for base in bases] + [("direction", direction)] * bool(direction)
    for kind, name in asked:
        if name not in known[kind]:
            hint = did_you_mean(str(name), known[kind])
            raise InputError(f'the result has no {kind} "{name}"; {hint}')
    return [
        row
        for row in result.rows
        if (not bases or row.base in bases) and direction in (None, row.direction)
    ]
