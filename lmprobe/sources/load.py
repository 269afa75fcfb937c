"""Turns a name, a path or an object into a source of base rates, and lists what there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from lmprobe.errors import DataFileError, InputError
from lmprobe.io.files import base_rates_folder, find_shipped, shipped_names
from lmprobe.metrics.association import Association
from lmprobe.metrics.labels import is_frame
from lmprobe.sources.csv_file import read_table
from lmprobe.sources.source import (
    PROVENANCE,
    BaseTable,
    MissingLabels,
    Provenance,
    Source,
    from_frame,
    sources,
    table_of,
)

_SHIPPED = "base_rates"
COUNTS_FILE = "corpus_counts.csv"


@sources.register("corpus")
class Corpus:
    """Stands for the training counts of whichever model is probed."""

    name = "corpus"
    provenance: ClassVar[Provenance] = {
        "title": "What the model was trained on",
        "source": f"{COUNTS_FILE} in the folder of the model",
        "year": None,
        "licence": "that of the model",
        "unit": "sentences",
        "method": "counted when the model's training text was made",
        "sha256": None,
        "notes": ("only models that come with their counts have it, such as reference:amplified",),
    }

    def of(self, model: Any) -> Source:
        """Return the counts of one model, or say that it comes without."""
        if model is None:
            self._refuse("it is known only together with a model")
        folder = getattr(model, "folder", None)
        if folder is None or not (folder / COUNTS_FILE).is_file():
            self._refuse(f'the model "{getattr(model, "name", model)}" comes without {COUNTS_FILE}')
        table = read_table(folder / COUNTS_FILE, self.name)
        provenance = {**self.provenance, "sha256": table.provenance["sha256"]}
        # All that the model was trained on, not a sample of it.
        return replace(table, provenance=provenance, sampling=None, complete=True)

    def association(self, attributes: Sequence[str], tasks: Sequence[str]) -> Association:
        """Refuse: without a model there is nothing to count."""
        self._refuse("it is known only together with a model")

    def _refuse(self, why: str) -> NoReturn:
        raise InputError(
            f'base rates "corpus" are the counts of a model\'s own training text, and {why}; '
            "use reference:faithful or reference:amplified, or count a text with `lmprobe count` "
            "and give the CSV as base"
        )


def load_base_rates(source: Any, *, model: Any = None) -> Source:
    """Return base rates by name or path, or from an object.

    A name is looked up among your own tables (see `lmprobe.io.files`), the registered
    sources, and the bundled tables, in this order. A path is a CSV file. A DataFrame, an
    `Association` and any object with the methods of a `Source` are accepted too. `model` is
    needed for sources that depend on a model, such as "corpus".

    >>> load_base_rates("labor").association(["he", "she"], ["nurse"]).joint.round(2).tolist()
    [[0.1], [0.9]]
    """
    if isinstance(source, str | Path):
        base = find_source(str(source))
    elif isinstance(source, Association):
        counts = source.joint if source.counts is None else source.counts
        base = table_of("association", counts, source.attributes, source.tasks)
    elif is_frame(source):
        base = from_frame(source)
    else:
        base = source
    if callable(getattr(base, "of", None)):
        base = base.of(model)  # type: ignore[attr-defined]
    if isinstance(base, type) or not isinstance(base, Source):
        raise InputError(
            f"base rates must be a name, a path, a DataFrame or an object with `name`, "
            f"`provenance` and `association(attributes, tasks)`; found {type(source).__name__}"
        )
    return base


def default_base(attributes: Sequence[str], tasks: Sequence[str]) -> str:
    """Return the base rates to compare with where none are named.

    They are "labor", or "uniform" if it has none of the tasks or fewer than two of the groups.

    >>> default_base(["he", "she"], ["nurse"]), default_base(["he", "she"], ["friendly"])
    ('labor', 'uniform')
    """
    try:
        find_source("labor").association(attributes, tasks)
    except MissingLabels as lacking:
        groups = set(attributes) - set(lacking.attributes)
        if len(groups) < 2 or set(tasks) <= set(lacking.tasks):
            return "uniform"
    return "labor"


def names() -> tuple[str, ...]:
    """Return the name of every source: code, shipped tables and your own, alphabetically."""
    own = base_rates_folder().glob("*.csv")
    shipped = shipped_names(_SHIPPED, ".csv")
    return tuple(sorted({*sources.names(), *shipped, *(path.stem for path in own)}))


def describe() -> list[dict[str, Any]]:
    """Return name, provenance and size of every source; any labels is None.

    A table of yours that cannot be read is listed with its `problem` and nothing else.
    """
    return [_described(name) for name in names()]


def _described(name: str) -> dict[str, Any]:
    source, problem = None, None
    try:
        source = find_source(name)
    except DataFileError as mistake:
        problem = str(mistake)
    table = source if isinstance(source, BaseTable) else None
    return {
        "name": name,
        **{key: source.provenance.get(key) if source else None for key in PROVENANCE},
        "tasks": len(table.tasks) if table else None,
        "attributes": list(table.attributes) if table else None,
        "units": dict(table.units) if table else None,
        "file": str(_own(name)) if _own(name).is_file() else None,
        "problem": problem,
    }


def find_source(text: str) -> Source:
    """Return the source of a name or path; one that depends on a model does not know it yet."""
    is_path = "/" in text or text.endswith(".csv")
    if not is_path and _own(text).is_file():
        return read_table(_own(text))
    if text in sources.names():
        return sources.get(text)()
    return read_table(find_shipped(text, _SHIPPED, ".csv", names))


def _own(name: str) -> Path:
    return base_rates_folder() / f"{name}.csv"
