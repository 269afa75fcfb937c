"""The counting benchmark runs anywhere: without a text it writes its own and says so."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "counting.py"


@pytest.mark.slow
def test_it_writes_its_own_text() -> None:
    command = [sys.executable, BENCHMARK, "--megabytes", "1", "--rounds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["text"].startswith("written by the grammar")
    rules = [row["what"].split()[-1] for row in found["rows"]]
    assert rules == ["paper", "paper", "word", "pattern"]
