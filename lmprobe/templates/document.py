"""Reads a TOML file, and says where it stops being one."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from lmprobe.templates.problems import Findings, Problem


def read_document(path: Path) -> tuple[dict[str, Any], Findings]:
    """Return the content of a TOML file and its findings; unreadable, it is empty with one."""
    raw = path.read_bytes()
    try:
        # Editors on Windows put a byte-order mark first, which TOML itself refuses.
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        findings = Findings(path)
        message = f"is not UTF-8 (byte 0x{raw[error.start]:02x}); save it in that encoding"
        findings.problems.append(Problem(path, "", message, line))
        return {}, findings
    findings = Findings(path, text)
    try:
        return tomllib.loads(text), findings
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"at line (\d+)", str(error))
        # "at end of document" is the only other place that tomllib names.
        line = int(place[1]) if place else len(text.splitlines())
        findings.problems.append(Problem(path, "", f"is not valid TOML: {error}", line))
        return {}, findings
