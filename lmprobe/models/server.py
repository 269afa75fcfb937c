"""A client of servers that speak the OpenAI API, written with the standard library.

Requests run in parallel, and those that failed for a moment are sent again. The key comes from
the environment and goes into one header: into no message, no file and, because redirections are
not followed, to no other server.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from http.client import HTTPException
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import HTTPErrorProcessor, ProxyHandler, Request, build_opener

from lmprobe.errors import InputError, ModelError, shortened
from lmprobe.io.files import parse_json
from lmprobe.io.work import Progress, silent

KEY_VARIABLE = "LMPROBE_API_KEY"
"""The environment variable with the key of a server."""
TIMEOUT = 120.0
"""The longest time to wait for an answer, in seconds."""

_ATTEMPTS = 5
# Before the second attempt, in seconds; doubled for each further one.
_PAUSE, _LONGEST_PAUSE = 0.25, 60.0
# Too many requests, and what a server or the gateway before it has for a moment.
_PASSING = (429, 500, 502, 503, 504)
_NO_API = "; the URL of an API often ends in /v1"


def is_url(name: object) -> bool:
    """Tell whether a model is named by the URL of a server."""
    return isinstance(name, str) and name.lower().startswith(("http://", "https://"))


def server_address(name: str) -> tuple[str, str]:
    """Return the URL of a server and the name of the model after "#", if there is one.

    What may be secret in a URL is refused, before it gets into a message or a result.

    >>> server_address("http://127.0.0.1:8000/v1/#org/name")
    ('http://127.0.0.1:8000/v1', 'org/name')
    """
    try:
        parts = urlsplit(name.strip())
        host = parts.hostname if parts.port != 0 else None
    except ValueError:
        host = None
    if not host:
        raise InputError("a server has a URL such as http://127.0.0.1:8000/v1; this one is invalid")
    if "@" in parts.netloc or parts.query:
        raise InputError(
            f"the URL of {host} has a user, a password or a query in it; give the URL alone, and "
            f"a key in the environment variable {KEY_VARIABLE}"
        )
    return f"{parts.scheme.lower()}://{parts.netloc}{parts.path.rstrip('/')}", parts.fragment


class ServerRefusal(ModelError):
    """A request that the server understood and refused, such as one that is too long."""


class _PassingError(Exception):
    """A failure that another attempt may not have, and the pause that the server asks for."""


class _AsAnswered(HTTPErrorProcessor):
    def http_response(self, request: Any, response: Any) -> Any:
        """Follow no redirection: the key is for the server that was named."""
        return response

    https_response = http_response


class Server:
    """Sends requests to one URL; each answer is a JSON object."""

    def __init__(self, url: str, parallel: int = 1) -> None:
        """Read the key from the environment; `parallel` is how many requests may run at once."""
        self.url, self._parallel = url, parallel
        self._key = os.environ.get(KEY_VARIABLE, "").strip()
        local = urlsplit(url).hostname in ("localhost", "127.0.0.1", "::1")
        self._opener = build_opener(_AsAnswered, *[ProxyHandler({})] * local)

    def ask(
        self,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        attempts: int = _ATTEMPTS,
        stop: Event | None = None,
    ) -> dict[str, Any]:
        """Return the answer to a request, after several attempts if they fail for a moment.

        `path` is that after the URL, or that of the server if it begins with a slash. Without a
        body it is a GET. Once `stop` is set, no further attempt is made.
        """
        stop = stop or Event()
        for attempt in range(1, attempts + 1):
            try:
                return self._answer(path, body)
            except _PassingError as problem:
                reason, pause = problem.args
                if pause is None:
                    # With jitter, so that requests which failed together do not return together.
                    pause = _PAUSE * 2 ** (attempt - 1) * random.uniform(0.5, 1.5)
                if attempt == attempts or pause > _LONGEST_PAUSE or stop.wait(pause):
                    break
        tries = f" ({attempt} attempts)" if attempt > 1 else ""
        raise ModelError(f"{self.url}: {reason}{tries}")

    def ask_all(
        self, path: str, bodies: Sequence[Mapping[str, Any]], progress: Progress = silent
    ) -> list[dict[str, Any]]:
        """Return the answers to several requests.

        The threads are no obstacle to an interrupt: nothing waits for them.
        """
        answers: list[Future[dict[str, Any]]] = [Future() for _ in bodies]
        waiting: SimpleQueue[int] = SimpleQueue()
        for number in range(len(bodies)):
            waiting.put(number)
        stop = Event()

        def work() -> None:
            with suppress(Empty):
                while not stop.is_set():
                    number = waiting.get_nowait()
                    try:
                        answers[number].set_result(self.ask(path, bodies[number], stop=stop))
                    except BaseException as problem:
                        answers[number].set_exception(problem)

        try:
            for _ in range(min(self._parallel, len(bodies))):
                Thread(target=work, daemon=True).start()
            for number, answer in enumerate(answers, start=1):
                answer.result()
                progress(number, len(bodies))
        finally:
            stop.set()
        return [answer.result() for answer in answers]

    def _answer(self, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        root = self.url[: -len(urlsplit(self.url).path) or None]
        request = Request(
            root + path if path.startswith("/") else f"{self.url}/{path}",
            None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        if self._key:
            request.add_unredirected_header("Authorization", f"Bearer {self._key}")
        try:
            with self._opener.open(request, timeout=TIMEOUT) as response:
                text = response.read().decode("utf-8", errors="replace")
        except (HTTPException, OSError) as problem:
            reason = getattr(problem, "reason", problem)
            why = getattr(reason, "strerror", None) or reason or type(reason).__name__
            what = "cannot be reached" if isinstance(problem, URLError) else "broke off its answer"
            if isinstance(reason, TimeoutError):
                what, why = "is too slow", f"no answer within {TIMEOUT:g} seconds"
            raise _PassingError(f"the server {what}: {why}", None) from None
        page = text.lstrip().startswith("<")
        try:
            answer = "" if page else parse_json(text)
        except ValueError as problem:
            if response.status == 200:
                raise _PassingError(f"the server's answer is not JSON: {problem}", None) from None
            answer = text
        if response.status != 200:
            raise self._refusal(response.status, answer, response.headers.get("Retry-After", ""))
        if not isinstance(answer, dict):
            content = f"with a web page{_NO_API}" if page else "with no JSON object"
            raise ModelError(f"{self.url}: the server answers {content}")
        return answer

    def _refusal(self, status: int, said: Any, after: str) -> Exception:
        """Return the error for what a server says instead of an answer."""
        # As OpenAI, vLLM and FastAPI say what is wrong.
        while isinstance(said, dict):
            said = said.get("error") or said.get("message") or said.get("detail") or ""
        text = str(said).replace(self._key, "(key)") if self._key else str(said)
        text = shortened(text.strip().rstrip("."), 300)
        text = f"the server answers HTTP {status}{text and ', ' + text}"
        if status in _PASSING:
            return _PassingError(text, float(after) if after.isdecimal() else None)
        hint = _NO_API if status == 404 else ""
        if status in (401, 403):
            wrong = "it does not accept the key in the environment variable"
            lacking = "give its key in the environment variable"
            hint = f"; {wrong if self._key else lacking} {KEY_VARIABLE}"
        if 300 <= status < 400:
            hint = "; redirections are not followed: give the URL that it leads to"
        return ServerRefusal(f"{self.url}: {text}{hint}")
