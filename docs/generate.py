"""Writes the generated pages: `python docs/generate.py cli api reproduction picture`.

Without a name it writes all but the picture of the README, which needs Chromium.

tests/test_docs.py fails when a page and its generator disagree.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any

import typer

import lmprobe
from lmprobe.cli.main import app

DOCS = Path(__file__).parent
BEGIN, END = "<!-- generated: do not edit below -->", "<!-- end of the generated part -->"


def cli() -> str:
    """Return the help of every command, from the program itself."""
    group: Any = typer.main.get_command(app)
    lines = []
    for name, command in sorted(group.commands.items()):
        lines += [f"## lmprobe {name}", "", _prose(command.help or ""), ""]
        lines += ["| option | meaning |", "|---|---|"]
        lines += [_option(one) for one in command.params if one.name != "help"]
        lines.append("")
    return "\n".join(lines)


def _prose(text: str) -> str:
    """Return help as Markdown: what is bold in a terminal is an example, one line each."""
    joined = re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.cleandoc(text))
    return re.sub(r"\[bold\](.*?)\[/bold\]", r"`\1`", joined)


def _option(one: Any) -> str:
    names = [*one.opts, *one.secondary_opts] if one.opts[0].startswith("-") else [one.name]
    written = ", ".join(f"`{name}`" for name in names)
    default = "" if _unset(one) else f" Default: `{_plain(one.default)}`."
    needed = " Required." if one.required else ""
    said = re.sub(r"\s+", " ", one.help or "").strip().replace("|", "\\|").replace("<", "&lt;")
    said = said if not said or said.endswith((".", "?", "!")) else f"{said}."
    return f"| {written} | {said}{default}{needed} |"


def _plain(value: Any) -> str:
    return str(getattr(value, "value", value))


def _unset(one: Any) -> bool:
    empty = one.default is None or one.default is False or one.default == () or one.required
    return bool(empty or callable(one.default) or "Sentinel" in type(one.default).__name__)


def api() -> str:
    """Return every public name with its signature and the first line of its docstring."""
    lines = []
    for name in lmprobe.__all__:
        thing = getattr(lmprobe, name)
        lines += [f"### {name}", "", *_signature(name, thing), _first_line(thing), ""]
    return "\n".join(lines)


def _signature(name: str, thing: Any) -> list[str]:
    """Return a function's parameters without their types, as one calls it."""
    if inspect.isclass(thing):
        return []
    bare = inspect.signature(thing)
    parameters = [
        one.replace(annotation=inspect.Parameter.empty) for one in bare.parameters.values()
    ]
    written = str(bare.replace(parameters=parameters, return_annotation=inspect.Signature.empty))
    # A default that is a function would print its address.
    written = re.sub("<function ([a-z_]+) at [^>]+>", r"\1", written)
    return ["```text", f"{name}{written}", "```", ""]


def _first_line(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").splitlines()[0].replace("<", "&lt;")


def reproduction(images: Path | None = DOCS / "images", *, without: tuple[str, ...] = ()) -> str:
    """Return docs/reproduction.md, and leave its figures in the folder, if there is one.

    `without` leaves experiments out: one that takes minutes need not hold up every test.
    """
    from lmprobe.atomic import write_text
    from lmprobe.report.figures import svg
    from lmprobe.report.reproduction import image_name, reproduction_markdown
    from lmprobe.reproduce.experiment import Settings, experiments, in_order

    # The bundled model, so that the page does not depend on what this machine can download.
    settings = Settings(model="reference:amplified")
    names = [name for name in in_order() if name not in without]
    done = [experiments.get(name)(settings) for name in names]
    for one in done:
        for figure in one.figures if images else ():
            write_text(images / image_name(one, figure.name), svg(figure) + "\n")
    return reproduction_markdown(done)


def picture() -> None:
    """Leave the picture of the README, the top of a report, in docs/images; needs Chromium."""
    import subprocess
    import tempfile

    from lmprobe.report.html import html_report

    result = lmprobe.probe("reference:amplified", base=["uniform", "labor", "corpus"])
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        page.write_text(html_report(result), encoding="utf-8")
        flags = "--headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1200,960"
        target = DOCS / "images" / "report.png"
        target.parent.mkdir(exist_ok=True)
        subprocess.run(
            [
                "chromium",
                *flags.split(),
                f"--user-data-dir={folder}/profile",
                f"--screenshot={target}",
                page.as_uri(),
            ],
            check=True,
            capture_output=True,
        )
    print(f"wrote {target}")


def between(page: str, part: str) -> str:
    """Return the page with its generated part replaced."""
    head, rest = page.split(BEGIN)
    _, tail = rest.split(END)
    return f"{head}{BEGIN}\n\n{part}\n{END}{tail}"


def main(wanted: list[str]) -> None:
    """Write the pages that were asked for, or all."""
    for name in wanted or ["cli", "api", "reproduction"]:
        if name == "picture":
            picture()
            continue
        path = DOCS / f"{name}.md"
        if name == "reproduction":
            path.write_text(reproduction(), encoding="utf-8")
        else:
            part = {"cli": cli, "api": api}[name]()
            path.write_text(between(path.read_text(encoding="utf-8"), part), encoding="utf-8")
        print(f"wrote {path}")


if __name__ == "__main__":
    main(sys.argv[1:])
