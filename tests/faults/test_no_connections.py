"""No command connects to another machine when its data are local: what strace sees.

These need strace, and Ray for its engine; `make faults` runs them.
"""

from __future__ import annotations

import importlib.util
import ipaddress
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.test_commands_that_write import ALL, inputs

__all__ = ["inputs"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace"),
    pytest.mark.skipif("LMPROBE_FAULTS" not in os.environ, reason="make faults runs it"),
]

RAY = {
    "count-ray": "count text.txt --tasks nurse,cook --engine ray --output OUT",
    "sweep-ray": "sweep reference:amplified --templates mini.toml --engine ray --output OUT",
    "amplify-ray": "amplify people.csv --attribute sex --task job --task-prediction guess "
    "--engine ray --output OUT",
}
COMMANDS = {**ALL, **RAY}

# The address of a socket as strace writes it.
_ADDRESS = re.compile(r'sa_family=AF_INET6?.*?(?:inet_addr\("|inet_pton\(AF_INET6, ")([^"]+)"')
_CALLS = "connect,sendto,sendmsg,sendmmsg"


def is_this_machine(address: str) -> bool:
    result = ipaddress.ip_address(address)
    mapped = getattr(result, "ipv4_mapped", None)
    return (mapped or result).is_loopback


@pytest.mark.parametrize("name", COMMANDS)
def test_no_connection_leaves_the_machine(name: str, inputs: Path, tmp_path: Path) -> None:
    if name in RAY and importlib.util.find_spec("ray") is None:
        pytest.skip("needs Ray")
    words = COMMANDS[name].replace("OUT", str(tmp_path / "out")).split()
    trace = tmp_path / "trace"
    strace = ["strace", "-f", "--seccomp-bpf", "-e", f"trace={_CALLS}", "-o", str(trace)]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    environment |= {
        "LMPROBE_CACHE": str(tmp_path / "cache"),
        "LMPROBE_BASE_RATES": str(tmp_path / "rates"),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    done = subprocess.run(
        [*strace, sys.executable, "-m", "lmprobe", *words],
        cwd=inputs, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = trace.read_text(errors="replace").splitlines()
    seen = [(address, line) for line in lines for address in _ADDRESS.findall(line)]
    print(f"{name}: {len(seen)} connections, all to this machine")
    assert [line for address, line in seen if not is_this_machine(address)] == []
    if name in RAY:
        assert seen, "Ray's processes speak over the loopback interface"
