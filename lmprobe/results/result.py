"""What every result can do: become JSON, a table, a page, a figure; made of neutral content.

A job's result is a dataclass that derives from `Result` and says which tables, figures and
sections it has. How these look is decided by the renderers alone.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from lmprobe.errors import DataFileError, InputError, did_you_mean
from lmprobe.io.files import csv_text, json_text, write_texts
from lmprobe.results import Figure, Page, Table
from lmprobe.results.codec import from_json, to_json
from lmprobe.results.document import SCHEMA, read_document, refusing_damage
from lmprobe.results.estimate import Claim, difference

if TYPE_CHECKING:
    from lmprobe.report.charts import Picture


T = TypeVar("T", Table, Figure)


class Result(ABC):
    """An answer: rows of estimates with notes and provenance."""

    __slots__ = ()

    kind: ClassVar[str]
    """Which job made it: `probe`, `comparison`, `amplification`, ...; in JSON the key `kind`."""

    file_stem: ClassVar[str] = ""
    """What its files are called, such as sweep.json; by default result.json and report.html."""

    @abstractmethod
    def tables(self) -> tuple[Table, ...]:
        """Return the tables that a terminal shows, the most important first."""

    @abstractmethod
    def page(self) -> Page:
        """Return the whole report."""

    def claims(self) -> tuple[Claim, ...]:
        """Return the estimates that can be compared with a limit (see `check`)."""
        raise InputError(f"a result of the job {self.kind} has no number that can be checked")

    def changes(self, since: Result) -> tuple[Claim, ...]:
        """Return the differences from an earlier result of the same job.

        By default the two results are taken as independent; jobs that can pair them override
        this.
        """
        if since.kind != self.kind:
            raise InputError(
                f"results of different jobs cannot be compared: {self.kind} and {since.kind}"
            )
        earlier = {claim.key: claim for claim in since.claims()}
        changes = [
            difference(claim, earlier[claim.key]) for claim in self.claims() if claim.key in earlier
        ]
        if self.claims() and not changes:
            have = "; ".join(claim.label for claim in since.claims()) or "none"
            raise InputError(f"the results have no row in common; the earlier one has: {have}")
        return tuple(changes)

    def __init_subclass__(cls, **options: Any) -> None:
        """Keep the short form: a dataclass would print every array of every row."""
        super().__init_subclass__(**options)
        cls.__repr__ = Result.__repr__  # type: ignore[method-assign]

    def figures(self) -> tuple[Figure, ...]:
        """Return the figures of the page."""
        return self.page().figures

    def frames(self) -> dict[str, Any]:
        """Return the DataFrames that are written as CSV, by name: every table."""
        return {table.name: table.to_frame() for table in self.tables()}

    def table(self, name: str) -> Table:
        """Return the table of that name."""
        return _named("table", name, self.tables())

    def figure(self, name: str) -> Picture:
        """Return the figure of that name; its `save` writes SVG, PNG or PDF."""
        from lmprobe.report.charts import Picture

        return Picture(_named("figure", name, self.figures()))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document."""
        return {"schema": SCHEMA, "kind": self.kind, **to_json(self)}

    def to_json(self) -> str:
        """Return the JSON text; the same job with the same seed gives the same bytes."""
        return json_text(self.to_dict(), indent=1) + "\n"

    @classmethod
    def from_json(cls, text_or_path: str | Path) -> Self:
        """Read a result back from its JSON text, from its file, or from the folder of a run."""
        document, where = read_document(text_or_path, kind=cls.kind)
        with refusing_damage(where):
            return from_json(cls, document)

    def to_frame(self) -> Any:
        """Return the first table as a DataFrame."""
        return self.tables()[0].to_frame()

    def to_html(self) -> str:
        """Return the report as one HTML file that needs no other file and no network."""
        from lmprobe.report.html import page_html

        return page_html(self.page())

    def to_markdown(self) -> str:
        """Return the report as Markdown: for an issue, a pull request, a README."""
        from lmprobe.report.markup import page_markdown

        return page_markdown(self.page())

    def to_latex(self, name: str | None = None) -> str:
        r"""Return the table of that name, or all, for a paper; needs \usepackage{booktabs}."""
        from lmprobe.report.markup import latex_table

        tables = self.tables() if name is None else (self.table(name),)
        return "\n".join(map(latex_table, tables))

    def save(self, folder: str | Path) -> dict[str, Path]:
        """Write the result, its page and its tables as CSV to a folder; return where each is.

        A result that cannot be rendered, or does not fit on the disk, leaves the folder as it was.
        """
        stem = self.file_stem
        texts = {
            f"{stem or 'result'}.json": self.to_json(),
            f"{stem or 'report'}.html": self.to_html(),
        }
        kinds = dict(zip(texts, ("result", "report"), strict=True))
        texts |= {f"{name}.csv": csv_text(frame) for name, frame in self.frames().items()}
        target = Path(folder)
        write_texts({target / name: text for name, text in texts.items()})
        return {kinds.get(name, name.removesuffix(".csv")): target / name for name in texts}

    def __repr__(self) -> str:
        """Return one line: the job and what it found."""
        page = self.page()
        headline = " ".join(statement.text for statement in page.headline) or page.title
        return f"<{type(self).__name__}: {shorten(headline, 160, placeholder=' ...')}>"

    def __str__(self) -> str:
        """Return what was found and the tables, as a command prints them without --verbose."""
        from lmprobe.report.terminal import as_text, page_summary

        lines = as_text(page_summary(self.page(), self.tables(), details=False)).splitlines()
        return "\n".join(map(str.rstrip, lines))

    def _repr_html_(self) -> str:
        from lmprobe.report.html import notebook_html

        return notebook_html(self.page(), self.tables())


def _named(what: str, name: str, contents: tuple[T, ...]) -> T:
    by_name = {content.name: content for content in contents}
    if name not in by_name:
        raise InputError(f'no {what} "{name}"; {did_you_mean(name, by_name)}')
    return by_name[name]


# Names, not classes: only the job that made the file is imported.
KINDS = {
    "amplification": "lmprobe.tabular.result.AmplificationResult",
    "check": "lmprobe.results.check.CheckResult",
    "comparison": "lmprobe.probing.comparison.ComparisonResult",
    "count": "lmprobe.sources.counting.count.CountResult",
    "disparity": "lmprobe.tabular.disparity_result.DisparityResult",
    "leakage": "lmprobe.leakage.result.LeakageResult",
    "leakage-tradeoff": "lmprobe.leakage.removal.Tradeoff",
    "plan": "lmprobe.probing.plan.PlanResult",
    "probe": "lmprobe.probing.result.ProbeResult",
    "reproduction": "lmprobe.reproduce.experiment.Reproduction",
    "reproductions": "lmprobe.reproduce.experiment.ReproductionSet",
    "sweep": "lmprobe.sweeping.result.SweepResult",
}
"""Where the result of each job is defined, by the `kind` of its JSON document."""


def load_result(text_or_path: str | Path) -> Result:
    """Return the result of any job from its JSON text, its file, or the folder of a run.

    Version 1 had probes only; they are still read.
    """
    document, where = read_document(text_or_path)
    kind = str(document.get("kind"))
    if kind not in KINDS:
        raise DataFileError(f'{where}: no job "{kind}"; {did_you_mean(kind, KINDS)}')
    module, _, name = KINDS[kind].rpartition(".")
    job: type[Result] = getattr(importlib.import_module(module), name)
    result = job.from_json(text_or_path)
    # Provenance has no fixed form: whether it can be shown is seen by showing it.
    with refusing_damage(where):
        result.to_markdown()
    return result
