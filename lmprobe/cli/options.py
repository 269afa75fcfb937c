"""The options that many commands share, so that they read the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on standard output, nothing else.")
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="DIR", help="Write the result files to this folder."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of everything that is random.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar and no notes.")]
Confidence = Annotated[
    float, typer.Option("--confidence", help="Confidence of the interval, between 0 and 1.")
]
