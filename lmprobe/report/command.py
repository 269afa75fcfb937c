"""The command line that runs the same probe again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from lmprobe.errors import LmprobeError
from lmprobe.result import ProbeResult
from lmprobe.sources import names as source_names
from lmprobe.templates import load_templates

# What `lmprobe run` takes when an option is not given; only other choices are written out.
_DEFAULTS: dict[str, Any] = {
    "lean": None,
    "lean_weighting": "joint",
    "missing": "drop",
    "interval": "bootstrap",
    "resample": "both",
    "confidence": 0.95,
}


def command(result: ProbeResult) -> str:
    """Return the command, quoted for a shell.

    A result knows the names of its tables and templates, not the folders they lay in: of
    one that does not come with lmprobe the file's name is written.
    """
    facts = result.provenance
    chosen: Mapping[str, Any] = facts.get("settings", {})
    words = ["lmprobe", "run", str(facts["model"]), *_templates(facts, chosen)]
    shipped = source_names()
    for base in dict.fromkeys(row.base for row in result.rows):
        words += ["--base", base if base in shipped else f"{base}.csv"]
    if facts.get("scorer", "word-l2r") != "word-l2r":
        words += ["--scorer", str(facts["scorer"])]
    for name, default in _DEFAULTS.items():
        if chosen.get(name, default) != default:
            words += [f"--{name.replace('_', '-')}", str(chosen[name])]
    if chosen.get("missing") == "smooth":
        words += ["--pseudo-count", f"{chosen['pseudo_count']:g}"]
    if chosen.get("prior"):
        words.append("--prior")
    if facts.get("revision"):
        words += ["--revision", str(facts["revision"])]
    if facts.get("dtype", "float32") != "float32":
        words += ["--dtype", str(facts["dtype"])]
    return shlex.join([*words, "--seed", str(facts.get("seed", 0))])


def _templates(facts: Mapping[str, Any], chosen: Mapping[str, Any]) -> list[str]:
    """Return the options that choose the template set, and its words where not all of them."""
    name = str(facts["templates"]["name"])
    usual: dict[str, list[str]] = {}
    try:
        found = load_templates(name)
    except LmprobeError:
        words = ["--templates", f"{name}.toml"]
    else:
        words = ["--templates", name]
        usual = {"attributes": list(found.attributes), "tasks": list(found.tasks)}
    for axis in ("attributes", "tasks"):
        if chosen.get(axis) and list(chosen[axis]) != usual.get(axis):
            words += [f"--{axis}", ",".join(chosen[axis])]
    return words
