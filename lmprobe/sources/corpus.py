"""Base rates of a model's own training text: the counts in the folder of its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

from lmprobe.core.association import Association
from lmprobe.errors import InputError
from lmprobe.sources.csv_file import read_table
from lmprobe.sources.source import Provenance, Source, sources

FILE = "corpus_counts.csv"

_PROVENANCE: Provenance = {
    "title": "What the model was trained on",
    "source": f"{FILE} in the folder of the model",
    "year": None,
    "licence": "that of the model",
    "unit": "sentences",
    "method": "counted when the model's training text was made",
    "sha256": None,
    "notes": ("only models that come with their counts have it, such as reference:amplified",),
}


@sources.register("corpus")
class Corpus:
    """Stands for the training counts of whichever model is probed."""

    name = "corpus"
    provenance = _PROVENANCE

    def of(self, model: Any) -> Source:
        """Return the counts of one model, or say that it comes without."""
        if model is None:
            self._refuse("it is known only together with a model")
        folder = getattr(model, "folder", None)
        if folder is None or not (folder / FILE).is_file():
            self._refuse(f'the model "{getattr(model, "name", model)}" comes without {FILE}')
        table = read_table(folder / FILE, self.name)
        provenance = {**_PROVENANCE, "sha256": table.provenance["sha256"]}
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
