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
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.test_commands_that_write import PRINTING, WRITING, inputs

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
COMMANDS = {**WRITING, **PRINTING, **RAY}

# The address of a socket as strace writes it.
_ADDRESS = re.compile(r'sa_family=AF_INET6?.*?(?:inet_addr\("|inet_pton\(AF_INET6, ")([^"]+)"')
_CALLS = "connect,sendto,sendmsg,sendmmsg"


def addresses(trace: str) -> Iterator[tuple[str, str]]:
    """Yield every internet address that a process spoke to, with the line."""
    for line in trace.splitlines():
        for address in _ADDRESS.findall(line):
            yield address, line


def is_this_machine(address: str) -> bool:
    found = ipaddress.ip_address(address)
    mapped = getattr(found, "ipv4_mapped", None)
    return (mapped or found).is_loopback


def test_the_reader_of_traces_sees_what_it_must() -> None:
    trace = """
1 connect(3, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("8.8.8.8")}, 16) = 0
1 connect(3, {sa_family=AF_UNIX, sun_path="/run/x"}, 16) = 0
1 connect(4, {sa_family=AF_INET, sin_port=htons(6379), sin_addr=inet_addr("127.0.0.1")}, 16) = 0
1 connect(4, {sa_family=AF_INET6, sin6_port=htons(1), sin6_flowinfo=htonl(0), \
inet_pton(AF_INET6, "::ffff:127.0.0.1", &sin6_addr), sin6_scope_id=0}, 28) = 0
1 sendto(3, "x", 1, 0, {sa_family=AF_INET6, inet_pton(AF_INET6, "2001:db8::1", &a)}, 28) = 1
"""
    found = [address for address, _ in addresses(trace)]
    assert found == ["8.8.8.8", "127.0.0.1", "::ffff:127.0.0.1", "2001:db8::1"]
    assert [is_this_machine(one) for one in found] == [False, True, True, False]


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
    seen = list(addresses(trace.read_text(errors="replace")))
    print(f"{name}: {len(seen)} connections, all to this machine")
    assert [line for address, line in seen if not is_this_machine(address)] == []
    if name in RAY:
        assert seen, "Ray's processes speak over the loopback interface"
