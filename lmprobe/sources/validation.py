"""Checks data files of every kind: template sets, lexicons, base-rate tables, item tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from lmprobe.errors import LmprobeError
from lmprobe.io.files import FileProblems, Problem, shipped_folder
from lmprobe.sources.csv_file import read_table
from lmprobe.templates.items import holds_sentences, read_item_set
from lmprobe.templates.lexicon import read_document, read_lexicon
from lmprobe.templates.sets import check_set, is_template_set


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """What kind of file it is, and every mistake and warning in it."""

    path: Path
    kind: str
    problems: tuple[Problem, ...] = ()

    @property
    def mistakes(self) -> int:
        """How many of the problems make the file unusable."""
        return sum(not problem.warning for problem in self.problems)


def shipped_files() -> tuple[Path, ...]:
    """Return the data files that come with lmprobe."""
    templates = shipped_folder("templates")
    return (
        *sorted(templates.glob("*.toml")),
        *sorted((templates / "lexicons").glob("*.toml")),
        *sorted(shipped_folder("base_rates").glob("*.csv")),
    )


def validate_files(paths: Iterable[str | Path] | None = None) -> tuple[CheckedFile, ...]:
    """Check files; by default all that come with lmprobe."""
    return tuple(_checked(Path(path)) for path in (shipped_files() if paths is None else paths))


def _checked(path: Path) -> CheckedFile:
    if not path.is_file():
        message = "is a folder; name the files in it" if path.is_dir() else "no such file"
        return CheckedFile(path, "missing", (Problem(path, "", message),))
    if holds_sentences(path):
        problems = _problems(path, lambda: read_item_set(path).with_words())
        return CheckedFile(path, "item table", problems)
    if path.suffix == ".csv":
        return CheckedFile(path, "base rates", _problems(path, lambda: read_table(path)))
    if path.suffix == ".toml":
        return _checked_toml(path)
    message = "is neither a .toml (template set, lexicon), a .csv (base rates) nor an item table"
    return CheckedFile(path, "unknown", (Problem(path, "", message),))


def _checked_toml(path: Path) -> CheckedFile:
    table, findings = read_document(path)
    if findings.problems:
        return CheckedFile(path, "unreadable", tuple(findings.problems))
    if is_template_set(path):
        findings = check_set(path)[1]
        return CheckedFile(path, "template set", (*findings.problems, *findings.warnings))
    if "entries" in table:
        return CheckedFile(path, "lexicon", tuple(read_lexicon(path)[1].problems))
    rates = path.with_suffix(".csv")
    if rates.is_file():
        about = _checked(rates)
        return CheckedFile(path, f"about {about.kind}", about.problems)
    findings.add("", "has neither sentences (a template set) nor entries (a lexicon); add one")
    return CheckedFile(path, "unknown", tuple(findings.problems))


def _problems(path: Path, read: Callable[[], object]) -> tuple[Problem, ...]:
    """Return what is wrong with a file that is read so."""
    try:
        read()
    except FileProblems as error:
        return error.problems
    except LmprobeError as problem:
        return (Problem(path, "", str(problem).removeprefix(f"{path}: ")),)
    return ()
