"""`lmprobe plan`: how much data a claim needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lmprobe.cli.options import Confidence, Json, Output, Quiet, Seed

if TYPE_CHECKING:
    from rich.table import Table


def command(
    effect: Annotated[
        float | None, typer.Option("--effect", "-e", help="The difference to be claimed.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option("--rows", "-n", help="Instead: what so many rows can claim.")
    ] = None,
    group_share: Annotated[
        float, typer.Option(help="Share of the smaller group, at most 0.5.")
    ] = 0.5,
    cost_bound: Annotated[float, typer.Option(help="The largest cost of a row.")] = 1.0,
    variance: Annotated[
        float | None,
        typer.Option(help="Known variance; the worst case when not given. Needs --method."),
    ] = None,
    method: Annotated[str | None, typer.Option(help="One method; all when not given.")] = None,
    pilot: Annotated[
        Path | None,
        typer.Option(metavar="RESULT", help="A probe's result.json: plan templates instead."),
    ] = None,
    confidence: Confidence = 0.95,
    json: Json = False,
    output: Output = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Say how many rows a claim of a group disparity needs, or how many templates a probe.

    Examples:

    [bold]lmprobe plan --effect 0.05[/bold]

    [bold]lmprobe plan --effect 0.02 --pilot out/result.json[/bold]
    """
    from lmprobe.atomic import write_text
    from lmprobe.cli.output import note, show, show_json, to_json
    from lmprobe.errors import InputError

    if (effect is None) == (rows is None) or (pilot is not None and effect is None):
        raise InputError("give --effect, or --rows to turn the question round (not with --pilot)")
    if pilot is not None and (method is not None or variance is not None):
        raise InputError("--pilot plans by the variance of the pilot: no --method, no --variance")
    if pilot is not None and effect is not None:
        plans = _for_probe(pilot, effect, confidence)
        table, notes = _probe_table(plans, effect), _PROBE_NOTES
    else:
        if variance is not None and method is None:
            raise InputError("--variance means something else for each method; give --method too")
        plans = _for_rows(effect, rows, group_share, cost_bound, confidence, variance, method)
        table, notes = _rows_table(plans), _ROWS_NOTES
    document = {
        "schema": "lmprobe.plan/1",
        "effect": effect,
        "confidence": confidence,
        "rows": plans,
        "notes": list(notes),
    }
    if output is not None:
        saved = write_text(output / "plan.json", to_json(document) + "\n")
        note(f"wrote {saved}", quiet=quiet)
    if json:
        show_json(document)
        return
    show(table)
    for text in notes:
        note(text, quiet=quiet)


_ROWS_NOTES: tuple[str, ...] = (
    "bernstein, hoeffding, stratified and stratified-bernstein hold for any costs; "
    "score and bootstrap by the normal law, for samples as large as these.",
    "A claim needs an estimate at least this large. Where the true effect is just as large, "
    "about half of such samples show that; plan for a smaller effect to be safer.",
)
_PROBE_NOTES: tuple[str, ...] = (
    "From the pilot's variance over templates (families where the set has them) and tasks, by "
    "the normal law. A dash: no number of them is enough while the others stay as they are.",
)


def _for_rows(
    effect: float | None,
    rows: int | None,
    group_share: float,
    cost_bound: float,
    confidence: float,
    variance: float | None,
    method: str | None,
) -> list[dict[str, Any]]:
    from lmprobe.inference.planning import (
        PLANNED,
        claimable_effect,
        meaning_of_variance,
        sample_size,
    )

    plans = []
    for name in (method,) if method else PLANNED:
        n, claimable = rows, effect
        if effect is not None:
            n = sample_size(
                effect,
                group_share=group_share,
                cost_bound=cost_bound,
                confidence=confidence,
                variance=variance,
                method=name,
            )
        elif rows is not None:
            claimable = claimable_effect(
                rows,
                group_share=group_share,
                cost_bound=cost_bound,
                confidence=confidence,
                variance=variance,
                method=name,
            )
        plans.append(
            {
                "method": name,
                "n": n,
                "effect": claimable,
                "group_share": group_share,
                "cost_bound": cost_bound,
                "variance": variance,
                "variance_is": meaning_of_variance(name),
            }
        )
    return plans


def _for_probe(pilot: Path, effect: float, confidence: float) -> list[dict[str, Any]]:
    from dataclasses import asdict

    from lmprobe.inference.pilot import templates_needed
    from lmprobe.result import ProbeResult

    result = ProbeResult.from_json(pilot)
    plans = []
    for row in result.rows:
        plan = templates_needed(row.cells, effect, families=result.families, confidence=confidence)
        plans.append({"base": row.base, "direction": row.direction, **asdict(plan)})
    return plans


def _rows_table(plans: list[dict[str, Any]]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("method")
    table.add_column("rows", justify="right")
    table.add_column("smallest effect", justify="right")
    for plan in plans:
        # More than the largest cost is no difference that could be found.
        claim = f"{plan['effect']:.4f}" if plan["effect"] <= plan["cost_bound"] else "none"
        table.add_row(plan["method"], f"{plan['n']:,}", claim)
    return table


def _probe_table(plans: list[dict[str, Any]], effect: float) -> Table:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(
        title=f"to claim {effect:g}", title_justify="left", box=box.SIMPLE_HEAD, show_edge=False
    )
    for column in ("base", "direction"):
        table.add_column(column)
    for column in ("pilot ±", "templates", "or tasks", "templates, tasks fixed"):
        table.add_column(column, justify="right")
    for plan in plans:
        numbers = (plan["templates"], plan["tasks"], plan["fixed_tasks"])
        table.add_row(
            escape(plan["base"]),
            plan["direction"],
            f"{plan['halfwidth']:.4f}",
            *("–" if number is None else f"{number:,}" for number in numbers),
        )
    return table
