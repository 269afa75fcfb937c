"""A server of completions on this machine, with a bundled model behind it, and faults to switch on.

It reads and answers as vLLM does: the tokens of a prompt, echoed with their log-probabilities, then
one generated token and the likeliest ones in its place.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any

import numpy as np
import torch

import lmprobe

NAME = "org/faithful"
LONGEST = 60


class FakeServer:
    """What a server knows, what it was asked, and what is wrong with it."""

    def __init__(self, model: str = "reference:causal-faithful", **faults: Any) -> None:
        """Serve the model; the other arguments replace the attributes below."""
        loaded = lmprobe.load_model(model)
        self.tokenizer, self.network = loaded.tokenizer, loaded.network
        self.names = [NAME]
        self.key = ""
        """What the header must have."""
        self.statuses: list[tuple[int, dict[str, str]]] = []
        """Answered instead of the next completions."""
        self.lives = 10**9
        """How many completions are answered before connections are closed without an answer."""
        self.echoes = self.begins = self.spaces = self.top = self.samples = True
        self.sharpness = 1.0
        """The log-probabilities of echoed tokens are multiplied by it."""
        self.damage = ""
        """"cut" or "html": what becomes of answers."""
        self.hangs: Event | None = None
        """Set when a completion is asked for that is never answered."""
        self.prompts: list[str] = []
        """All that were asked for."""
        self.requests = 0
        vars(self).update(faults)
        self._lock = Lock()
        self._choices: dict[Any, dict[str, Any]] = {}
        vocabulary = self.tokenizer.convert_ids_to_tokens(range(len(self.tokenizer)))
        self.written = [self._write(token) for token in vocabulary]

    def randomise(self) -> None:
        """Give the network weights that know nothing."""
        generator = torch.Generator().manual_seed(0)
        with torch.no_grad():
            for weight in self.network.parameters():
                weight.copy_(torch.randn(weight.shape, generator=generator) * 0.02)

    def _write(self, token: str) -> str:
        if token.startswith("##"):
            return token[2:]
        space = self.spaces and token.isalnum()
        return f" {token}" if space else token

    def _ids(self, prompt: str) -> list[int]:
        ids = self.tokenizer(prompt, add_special_tokens=False)["input_ids"]
        return [self.tokenizer.cls_token_id, *ids] if self.begins else list(ids)

    def _next(self, ids: list[int]) -> Any:
        with torch.inference_mode():
            logits = self.network(torch.tensor([ids])).logits[0].double()
        return logits.log_softmax(-1).numpy()

    def _remembered(self, body: dict[str, Any], prompt: str) -> dict[str, Any]:
        """Return the completion; most tests ask for the same ones."""
        faults = self.network, self.begins, self.echoes, self.spaces, self.top, self.sharpness
        key = json.dumps({**body, "prompt": prompt}, sort_keys=True), faults
        if key not in self._choices:
            self._choices[key] = self.choice(body, prompt)
        return self._choices[key]

    def choice(self, body: dict[str, Any], prompt: str) -> dict[str, Any]:
        """Return the completion of a prompt."""
        bare = "add_special_tokens" in body and not body["add_special_tokens"]
        ids = self._ids(prompt)[self.begins if bare else 0 :]
        if len(ids) > LONGEST:
            raise ValueError(f"This model's maximum context length is {LONGEST} tokens")
        rng = np.random.default_rng(body.get("seed"))
        read = len(ids)
        values: list[float | None] = [None]
        after = self._next(ids)
        values += [float(after[n - 1, ids[n]]) * self.sharpness for n in range(1, read)]
        for _ in range(body["max_tokens"]):
            likely = after[-1]
            if body["temperature"]:
                shares = np.exp(likely / body["temperature"])
                ids.append(int(rng.choice(len(likely), p=shares / shares.sum())))
            else:
                ids.append(int(likely.argmax()))
            values.append(float(likely[ids[-1]]))
            top = np.argsort(-likely)[: body["logprobs"]]
            after = self._next(ids) if body["max_tokens"] > 1 else after
        shown = 0 if body.get("echo") and self.echoes else read
        best = {self.written[n]: float(likely[n]) for n in top}
        logprobs = {
            "tokens": [self.written[n] for n in ids[shown:]],
            "token_logprobs": values[shown:],
            "top_logprobs": [*[None] * (len(ids) - shown - 1), best] if self.top else None,
            "text_offset": [-1] * (len(ids) - shown),
        }
        return {"text": "".join(self.written[n] for n in ids[shown:]), "logprobs": logprobs}

    def answer(self, path: str, body: dict[str, Any] | None) -> tuple[int, Any]:
        """Return the status and the document of an answer."""
        if path == "/v1/models" and body is None:
            return 200, {"data": [{"id": name, "root": "/weights"} for name in self.names]}
        if path == "/tokenize" and body is not None:
            turns = "".join(f"{turn['role']} : {turn['content']} " for turn in body["messages"])
            return 200, {"tokens": self.tokenizer("[CLS]" + turns)["input_ids"][1:-1]}
        if path == "/detokenize" and body is not None:
            return 200, {"prompt": self.tokenizer.decode(body["tokens"]) + "[SEP]"}
        if path != "/v1/completions" or body is None:
            return 404, {"detail": "Not Found"}
        if body["model"] not in self.names:
            return 404, {"error": {"message": f"The model {body['model']} does not exist."}}
        if body["temperature"] and not self.samples:
            return 400, {"error": {"message": "temperature must be 0"}}
        with self._lock:
            self.prompts.append(body["prompt"])
            try:
                choice = self._remembered(body, body["prompt"])
            except ValueError as problem:
                return 400, {"error": {"message": str(problem)}}
        return 200, {"choices": [{"index": 0} | choice]}


@contextmanager
def serving(server: FakeServer) -> Iterator[str]:
    """Run the server on the loopback interface, and give its URL."""
    over = Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

        def do_GET(self) -> None:
            self._respond(None)

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            self._respond(json.loads(self.rfile.read(length)))

        def _respond(self, body: dict[str, Any] | None) -> None:
            headers: dict[str, str] = {}
            if server.key and self.headers["Authorization"] != f"Bearer {server.key}":
                wrong = self.headers["Authorization"]
                status, document = 401, {"error": {"message": f"wrong key: {wrong}"}}
            elif body is not None and server.statuses:
                status, headers = server.statuses.pop(0)
                document = {"error": {"message": "for a moment"}}
            else:
                if body is not None:
                    server.requests += 1
                    if server.hangs is not None:
                        server.hangs.set()
                        over.wait()
                    if server.requests > server.lives:
                        self.close_connection = True
                        return
                status, document = server.answer(self.path, body)
            text = json.dumps(document)
            if server.damage and body is not None:
                text = "<html></html>" if server.damage == "html" else text[: len(text) // 2]
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(text))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text.encode())

    class Running(ThreadingHTTPServer):
        request_queue_size = 64

    running = Running(("127.0.0.1", 0), Handler)
    running.daemon_threads = True
    running.block_on_close = False
    thread = Thread(target=running.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{running.server_address[1]}/v1"
    finally:
        over.set()
        running.shutdown()
        running.server_close()
