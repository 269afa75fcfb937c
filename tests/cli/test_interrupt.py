"""Ctrl-C ends a command with one line and the usual exit code."""

from __future__ import annotations

import subprocess
import sys

STOPPED = """
import sys
from lmprobe.cli import main

@main.app.command("stop")
def stop():
    raise KeyboardInterrupt

sys.argv = ["lmprobe", "stop"]
main.main()
"""


def test_an_interrupt_says_so() -> None:
    done = subprocess.run([sys.executable, "-c", STOPPED], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "lmprobe: interrupted\n")
