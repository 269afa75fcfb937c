"""What a counting engine is, and the registry that finds one by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from lmprobe.corpus.parts import Part
from lmprobe.corpus.work import Counts, Job
from lmprobe.registry import Registry

Numbered = tuple[int, Part]
Counted = tuple[int, int, Counts]
"""The number of a part, its size in bytes and its counts."""

Engine = Callable[[Job, Iterable[Numbered], int], Iterator[Counted]]
"""Called with the job, the parts and the number of workers; parts come back in any order."""

engines: Registry[Engine] = Registry("engines", "lmprobe.corpus.engines")
