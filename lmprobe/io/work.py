"""Long work: how it reports its progress, and how it runs on a Ray cluster."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from lmprobe.errors import MissingExtraError

T = TypeVar("T")
R = TypeVar("R")

Progress = Callable[[int, int], None]
"""Called with (done, total) after each step of long work; total is 0 while unknown."""


def silent(done: int, total: int) -> None:
    """Report no progress."""


# Read by Ray when it starts. Without the second, Ray looks up this machine's address at a public
# resolver and binds to it; with it, one machine is 127.0.0.1, as on macOS.
_PRIVATE = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}

# Even without usage statistics, Ray's own server asks the metadata services of cloud providers
# (plain HTTP to 169.254.169.254) where it runs. A proxy address without a server blocks that.
_CLOSED = {"http_proxy": "http://127.0.0.1:9", "no_proxy": "127.0.0.1,localhost,::1"}


@contextmanager
def ray_session(workers: int, *, environment: Mapping[str, str] | None = None) -> Iterator[Any]:
    """Give the module `ray`, connected; what was started here is stopped at the end.

    An address in RAY_ADDRESS, or a connection that the caller has made, is used. Otherwise
    `workers` processes start on this machine, bound to 127.0.0.1, without a dashboard.
    """
    ray = _imported()
    started = not ray.is_initialized()
    if started:
        _start(ray, workers, dict(environment or {}))
    try:
        yield ray
    finally:
        if started:
            ray.shutdown()


def map_on_ray(function: Callable[[T], R], items: Sequence[T], workers: int) -> Iterator[R]:
    """Yield what a function returns for each item, each in a Ray task, in any order.

    Ray runs a task again when its worker dies; an error of the function is raised here.
    """
    with ray_session(workers):
        import ray.data

        context = ray.data.DataContext.get_current()
        bars, context.enable_progress_bars = context.enable_progress_bars, False
        # Pickled here, because Ray would make columns of the items.
        rows = [{"task": pickle.dumps((function, item))} for item in items]
        try:
            # One block per item, so that a lost worker costs one item.
            blocks = ray.data.from_items(rows, override_num_blocks=len(rows)) if rows else None
            for row in blocks.map(_run_task).iter_rows() if blocks else ():
                answer = pickle.loads(row["answer"])
                if isinstance(answer, Exception):
                    raise answer
                yield answer
        finally:
            context.enable_progress_bars = bars


def _run_task(row: dict[str, Any]) -> dict[str, Any]:
    function, item = pickle.loads(row["task"])
    try:
        answer = function(item)
    except Exception as problem:  # raised again by the caller of the task
        answer = problem
    return {"answer": pickle.dumps(answer)}


def _imported() -> Any:
    named = "RAY_ADDRESS" in os.environ
    os.environ.update(_PRIVATE if not named else {"RAY_USAGE_STATS_ENABLED": "0"})
    try:
        import ray
    except ImportError:
        raise MissingExtraError('the engine "ray" needs Ray: pip install "ray[data]"') from None
    return ray


def _start(ray: Any, workers: int, environment: dict[str, str]) -> None:
    if "RAY_ADDRESS" in os.environ:
        ray.init(log_to_driver=False, runtime_env={"env_vars": environment})
        return
    # Tasks get the environment of the caller back.
    before = {name: os.environ.get(name) for name in _CLOSED}
    tasks = {name: value or "" for name, value in before.items()} | environment
    os.environ.update(_CLOSED)
    try:
        ray.init(
            num_cpus=workers,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="error",
            runtime_env={"env_vars": tasks},
        )
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
