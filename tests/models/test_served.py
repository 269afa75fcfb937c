"""A model behind a server gives what the same weights give here, or one line says why not."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

import lmprobe
from lmprobe.errors import InputError, ModelError
from lmprobe.models import Cloze, server as client
from lmprobe.models.echo import read_echo
from tests.checkpoints import own_cache
from tests.fake_server import LONGEST, NAME, FakeServer, serving

__all__ = ["own_cache"]
pytestmark = pytest.mark.usefixtures("own_cache")

LOCAL = "reference:causal-faithful"
TASKS = ["driver", "hairdresser", "nurse", "teacher"]
SENTENCE = "The nurse said that she was late."
KEY = "sk-very-secret"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def fake() -> FakeServer:
    """Load the model of all servers once; a test that changes it makes its own."""
    return FakeServer()


@pytest.fixture
def server(fake: FakeServer) -> Iterator[tuple[FakeServer, str]]:
    """Run a server whose faults a test may switch on."""
    before = dict(vars(fake))
    vars(fake).update(prompts=[], requests=0, statuses=[])
    with serving(fake) as url:
        yield fake, url
    vars(fake).update(before)


def probed(model: Any, **options: Any) -> lmprobe.ProbeResult:
    """Probe with few tasks and templates."""
    choices = {"base": ["labor", "uniform"], "tasks": TASKS, "interval": "t"} | options
    return lmprobe.probe(model, "neutral", **choices)


def likelihood(model: Any, text: str = SENTENCE) -> float:
    (sentence,) = model.encode([Cloze(text, 4, 9)])
    return float(model.log_probabilities(sentence.visible(1, len(sentence.ids))).sum())


def message(run: Run, *words: str) -> str:
    """Return the one line with which a command fails."""
    code, output, errors = run(*words)
    assert (code, output, len(errors.splitlines())) == (2, "", 1)
    assert "Traceback" not in errors
    return errors


@pytest.mark.parametrize("faults", [{}, {"spaces": False}])
def test_a_sentence_has_the_likelihood_that_the_weights_give(faults: dict[str, Any]) -> None:
    with serving(FakeServer(**faults)) as url:
        served = lmprobe.load_model(url)
        for text in (SENTENCE, "The hairdresser said that he was late."):
            local = likelihood(lmprobe.load_model(LOCAL), text)
            assert likelihood(served, text) == pytest.approx(local, abs=1e-5)


def test_a_probe_gives_what_the_same_weights_give_here(server: tuple[FakeServer, str]) -> None:
    served, local = probed(server[1]), probed(LOCAL)
    for row, expected in zip(served.rows, local.rows, strict=True):
        assert (row.base, row.direction) == (expected.base, expected.direction)
        assert row.value == pytest.approx(expected.value, abs=1e-6)
        assert row.interval.low == pytest.approx(expected.interval.low, abs=1e-6)
        np.testing.assert_allclose(row.predicted, expected.predicted, atol=1e-5)
        assert row.verdict == expected.verdict
        assert row.mass_ratio is not None
        assert row.mass_ratio > 20
        # Texts that begin with a candidate are a little more than the candidate.
        np.testing.assert_allclose(row.candidate_mass, expected.candidate_mass, rtol=0.01)
    assert served.perplexity == pytest.approx(local.perplexity, rel=1e-5)


def test_a_server_that_knows_nothing_is_uninformed() -> None:
    fake = FakeServer()
    fake.randomise()
    with serving(fake) as url:
        for row in probed(url).rows:
            assert row.mass_ratio == pytest.approx(1, abs=0.2)
            assert row.verdict == "uninformed"


def test_without_random_words_nothing_is_said_of_what_a_model_knows(
    server: tuple[FakeServer, str],
) -> None:
    server[0].samples = False
    result = probed(server[1])
    local = probed(LOCAL)
    assert [row.mass_ratio for row in result.rows] == [None] * 4
    assert any("whether it is informed is not known" in note.text for note in result.notes)
    assert [row.verdict for row in result.rows] == [row.verdict for row in local.rows]


def test_a_result_says_where_it_is_from_and_how_to_make_it_again(
    server: tuple[FakeServer, str],
) -> None:
    from lmprobe.probing.settings import run_again

    result = probed(server[1])
    facts = result.provenance
    assert facts["model"] == f"{server[1]}#{NAME}"
    assert facts["loading"]["url"] == server[1]
    assert facts["loading"]["served_as"] == NAME
    assert len(facts["loading"]["fingerprint"]) == 64
    assert run_again(result).startswith(f"lmprobe run '{server[1]}#{NAME}' --templates neutral")
    again = lmprobe.ProbeResult.from_json(result.to_json())
    assert again.to_json() == result.to_json()


def test_the_rerun_asks_no_sentence_again(server: tuple[FakeServer, str]) -> None:
    first = probed(server[1])
    asked = set(server[0].prompts)
    server[0].prompts.clear()
    assert probed(server[1]).to_json() == first.to_json()
    # What the server is checked with.
    assert 0 < len(set(server[0].prompts)) < 100 < len(asked)


def test_another_model_behind_the_url_has_answers_of_its_own(
    server: tuple[FakeServer, str],
) -> None:
    before = probed(server[1])
    other = vars(FakeServer("reference:causal-amplified"))
    vars(server[0]).update({name: other[name] for name in ("tokenizer", "network", "written")})
    after = probed(server[1])
    assert after.provenance["content_hash"] != before.provenance["content_hash"]
    expected = probed("reference:causal-amplified")
    assert after.rows[0].value == pytest.approx(expected.rows[0].value, abs=1e-6)


def test_rounding_makes_no_other_model(server: tuple[FakeServer, str]) -> None:
    before = lmprobe.load_model(server[1]).content_hash
    server[0].sharpness = 1.0001
    assert lmprobe.load_model(server[1]).content_hash == before
    server[0].sharpness = 1.004
    assert lmprobe.load_model(server[1]).content_hash != before


@pytest.mark.parametrize(
    ("faults", "reason"),
    [
        ({"echoes": False}, "asked to echo 'The nurse said that she would be late"),
        ({"sharpness": 1.5}, "when it generates and"),
        # Too little to see at one token, but at all of them.
        ({"sharpness": 1.05}, "when it generates and"),
        ({"top": False}, "too few log-probabilities"),
    ],
)
def test_a_server_that_cannot_be_relied_on_is_refused(
    server: tuple[FakeServer, str], faults: dict[str, Any], reason: str
) -> None:
    vars(server[0]).update(faults)
    with pytest.raises(ModelError) as refused:
        lmprobe.load_model(server[1])
    assert reason in str(refused.value)
    assert ".gguf file, which lmprobe loads itself" in str(refused.value)


def test_rounding_of_half_precision_is_no_reason_to_refuse(server: tuple[FakeServer, str]) -> None:
    server[0].sharpness = 1.01
    assert lmprobe.load_model(server[1]).kind == "served"


def test_without_a_token_before_the_sentence_its_first_word_has_no_probability(
    server: tuple[FakeServer, str], command: Callable[..., Run]
) -> None:
    server[0].begins = False
    wanted = "--task", "nurse,driver"
    error = message(command("run"), server[1], *wanted, "--base", "uniform")
    assert "the first word of" in error
    assert '(--bos "<s>")' in error or "(--bos <s>)" in error
    served = lmprobe.load_model(server[1], bos="[CLS]")
    assert likelihood(served) == pytest.approx(likelihood(lmprobe.load_model(LOCAL)), abs=1e-5)
    assert served.origin.bos == "[CLS]"  # type: ignore[attr-defined]
    # Where the difference comes later, none is needed.
    later = lmprobe.load_model(server[1])
    (sentence,) = later.encode([Cloze(SENTENCE, 4, 9)])
    assert np.isfinite(later.log_probabilities(sentence.visible(1, 5))).all()


@pytest.mark.parametrize("bos", ["[CLS]", "nobody knows"])
def test_a_wrong_first_token_is_refused(server: tuple[FakeServer, str], bos: str) -> None:
    server[0].begins = bos != "[CLS]"
    wrong = "[CLS] [CLS]" if bos == "[CLS]" else bos
    with pytest.raises(InputError, match="not the token with which this server begins"):
        lmprobe.load_model(server[1], bos=wrong)


def test_turns_are_written_by_the_server(server: tuple[FakeServer, str]) -> None:
    served: Any = lmprobe.load_model(server[1])
    prompt = served.chat_prompt("who works here ?", system="be friendly")
    assert prompt == "[CLS] system : be friendly user : who works here?[SEP]"


@pytest.mark.parametrize(
    ("statuses", "requests"),
    [([(429, {"Retry-After": "0"})] * 3, 3), ([(500, {}), (502, {}), (503, {}), (504, {})], 4)],
)
def test_what_passes_is_waited_for(
    server: tuple[FakeServer, str], statuses: list[Any], requests: int
) -> None:
    server[0].statuses = statuses
    assert likelihood(lmprobe.load_model(server[1])) < 0
    assert len(statuses) == 0, f"{requests} refusals were answered"


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ({"lives": 200}, "the server broke off its answer"),
        ({"statuses": [(500, {})] * 99}, "HTTP 500, for a moment (5 attempts)"),
        ({"statuses": [(429, {"Retry-After": "3600"})]}, "HTTP 429, for a moment"),
        ({"damage": "cut"}, "the server's answer is not JSON"),
        ({"damage": "html"}, "answers with a web page; the URL of an API often ends in /v1"),
        ({"names": ["a", "b"]}, "has 2 models, so name one (--served-model); Known: a, b"),
        (
            {"key": "wanted"},
            "HTTP 401, wrong key: None; give its key in the environment",
        ),
    ],
)
def test_a_fault_is_one_line_and_the_rerun_continues(
    server: tuple[FakeServer, str],
    command: Callable[..., Run],
    monkeypatch: pytest.MonkeyPatch,
    fault: dict[str, Any],
    error: str,
) -> None:
    monkeypatch.delenv(client.KEY_VARIABLE, raising=False)
    words = server[1], "--attribute", "he,she", "--task", ",".join(TASKS)
    words += "--templates", "neutral", "--base", "labor", "--interval", "t"
    healthy = dict(vars(server[0]))
    # In the middle, after the check of the server.
    vars(server[0]).update(fault)
    assert error in message(command("run"), *words)
    vars(server[0]).update(healthy, prompts=[], requests=0, statuses=[])
    code, output, _ = command("run")(*words, "--json")
    assert code == 0
    row = probed(LOCAL, base="labor").rows[0]
    assert json.loads(output)["rows"][0]["value"] == pytest.approx(row.value, abs=1e-6)


def test_a_server_that_dies_half_way_loses_no_chunk(
    server: tuple[FakeServer, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lmprobe.models.kinds.served.ServedModel.chunk_sentences", 32)
    probed(server[1], cache=False)
    whole = list(server[0].prompts)
    # In the last chunk.
    vars(server[0]).update(prompts=[], lives=server[0].requests - 6, requests=0)
    with pytest.raises(ModelError, match=r"the server .* \(5 attempts\)"):
        probed(server[1])
    vars(server[0]).update(prompts=[], lives=10**9)
    probed(server[1])
    assert len(server[0].prompts) < 0.8 * len(whole)


def test_a_server_that_is_down_and_a_model_that_it_does_not_have(
    server: tuple[FakeServer, str], command: Callable[..., Run]
) -> None:
    with serving(server[0]) as url:
        pass
    assert "cannot be reached: Connection refused" in message(command("run"), url)
    error = message(command("run"), server[1], "--served-model", "org/faithfull")
    assert f'no model "org/faithfull" (--served-model); did you mean "{NAME}"?' in error
    assert message(command("run"), f"{server[1]}#other", "--served-model", NAME)
    assert "often ends in /v1" in message(command("run"), server[1].removesuffix("/v1"))


def test_a_sentence_that_is_too_long_says_so(server: tuple[FakeServer, str]) -> None:
    model = lmprobe.load_model(server[1])
    with pytest.raises(ModelError, match=f"maximum context length is {LONGEST} tokens"):
        model.encode([Cloze("The nurse " * 40, 4, 9)])


def test_a_server_that_does_not_answer_in_time(
    server: tuple[FakeServer, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "TIMEOUT", 0.05)
    server[0].hangs = Event()
    with pytest.raises(ModelError, match=r"no answer within 0.05 seconds \(5 attempts\)"):
        lmprobe.load_model(server[1])


def test_a_key_goes_to_the_server_and_nowhere_else(
    server: tuple[FakeServer, str],
    command: Callable[..., Run],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    server[0].key = "another"
    monkeypatch.setenv(client.KEY_VARIABLE, KEY)
    error = message(command("run"), server[1])
    # The server repeats the header.
    assert "wrong key: Bearer (key); it does not accept the key" in error
    server[0].key = KEY
    words = server[1], "--templates", "neutral", "--task", "nurse,driver"
    code, output, errors = command("run")(*words, "--output", tmp_path / "out")
    assert code == 0, errors
    texts = [output, errors, error]
    for folder in (tmp_path, Path(os.environ["LMPROBE_CACHE"])):
        texts += [path.read_text() for path in folder.rglob("*") if path.is_file()]
    assert len(texts) > 5
    assert not any(KEY in text for text in texts)


@pytest.mark.parametrize(
    "url", ["http://me:sk-very-secret@127.0.0.1:9/v1", "http://127.0.0.1:9/v1?key=sk-very-secret"]
)
def test_a_url_with_a_secret_is_refused_before_it_is_shown(
    url: str, command: Callable[..., Run]
) -> None:
    for words in (["run", url], ["sweep", url, LOCAL], ["compare", url, LOCAL]):
        error = message(command(words[0]), *words[1:])
        assert "the URL of 127.0.0.1 has a user, a password or a query in it" in error
        assert KEY not in error


def test_what_the_server_decides_cannot_be_chosen(server: tuple[FakeServer, str]) -> None:
    for name, value in {"device": "cpu", "dtype": "float16", "revision": "main"}.items():
        with pytest.raises(InputError, match=f"`{name}` is for a model that lmprobe loads"):
            lmprobe.load_model(server[1], **{name: value})  # type: ignore[arg-type]
    with pytest.raises(ModelError, match='models are "served", not masked'):
        lmprobe.load_model(server[1], kind="masked")
    with pytest.raises(InputError, match="`served_model` is for the URL of a server"):
        lmprobe.load_model(LOCAL, served_model=NAME)
    with pytest.raises(InputError, match="this one is invalid"):
        lmprobe.load_model("http://:x/v1")


def test_compare_sweep_check_and_report_take_a_served_model(
    server: tuple[FakeServer, str], command: Callable[..., Run], tmp_path: Path
) -> None:
    words = "--templates", "neutral", "--task", ",".join(TASKS), "--base", "labor"
    options = {"templates": "neutral", "tasks": TASKS, "base": "labor", "interval": "t"}
    compared = lmprobe.compare([LOCAL, server[1]], **options)  # type: ignore[arg-type]
    assert all(abs(row.value) < 1e-6 for row in compared.rows)
    code, output, errors = command("sweep")(
        LOCAL, f"{server[1]}#{NAME}", *words, "--json", "--device", "cpu", "--served-model", NAME
    )
    assert code == 0, errors
    labels = {row["model"]: row["value"] for row in json.loads(output)["rows"]}
    assert labels[f"{server[1]}#{NAME}"] == pytest.approx(labels[LOCAL], abs=1e-6)
    code, _, errors = command("run")(server[1], *words, "--output", tmp_path / "run")
    assert code == 0, errors
    result = str(tmp_path / "run" / "result.json")
    assert command("check")(result, "--max", "0.5")[0] == 0
    assert command("report")(result)[0] == 0


@pytest.mark.slow
def test_a_sweep_does_not_take_over_what_another_model_behind_the_url_answered(
    server: tuple[FakeServer, str], tmp_path: Path
) -> None:
    options = {"templates": ["neutral"], "base": ["uniform"], "tasks": TASKS[:2]}
    first = lmprobe.sweep([server[1], LOCAL], output=tmp_path, **options)  # type: ignore[arg-type]
    server[0].network = FakeServer("reference:causal-amplified").network
    second = lmprobe.sweep([server[1], LOCAL], output=tmp_path, **options)  # type: ignore[arg-type]
    values = [swept.to_frame()["value"].to_numpy() for swept in (first, second)]
    assert not np.allclose(*values)


def test_a_served_model_needs_neither_torch_nor_transformers(
    server: tuple[FakeServer, str],
) -> None:
    program = (
        f"import sys, lmprobe; lmprobe.load_model({server[1]!r}); "
        "print({'torch', 'transformers'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"


def test_an_interrupt_ends_a_run_at_once(server: tuple[FakeServer, str]) -> None:
    server[0].hangs = Event()
    words = [sys.executable, "-m", "lmprobe", "run", server[1]]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as running:
        assert server[0].hangs.wait(120)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("tokens", "pieces"),
    [
        (["<s>", "É", "l", " ate", "."], ["", "É", "l", " ate", "."]),
        # Without spaces, as single tokens of SentencePiece are decoded.
        (["<s>", "Él", "ate", "."], ["", "Él", " ate", "."]),
        # Bytes of a letter: as nothing before the letter, or as marks.
        (["<s>", "", "É", "l", " ate", "."], ["", "É", "", "l", " ate", "."]),
        (["<s>", "\ufffd", "\ufffd", "l", " ate", "."], ["", "É", "", "l", " ate", "."]),
        (["", "él", " ", "ate", "."], ["", "Él", " ", "ate", "."]),
        (["Él", " ate", "."], ["Él", " ate", "."]),
    ],
)
def test_tokens_are_found_in_their_sentence(tokens: list[str], pieces: list[str]) -> None:
    reading = read_echo("Él ate.", tokens, [None, *map(float, range(1, len(tokens)))])
    assert reading is not None
    assert list(reading.pieces) == pieces
    assert reading.first == (0 if tokens[0] == "Él" else 1)
    assert math.isnan(reading.log_probability[0])


def test_the_end_of_a_prompt_is_no_part_of_the_sentence() -> None:
    prompt, sentence = "<user>\nWho?\n", "\u5979 sat."
    # The first letter is two tokens, of which the first is written as nothing.
    tokens = ["<s>", "<user>", "\n", "Who?", "\n", "", "\u5979", " sat", "."]
    values = [None, *map(float, range(1, len(tokens)))]
    reading = read_echo(sentence, tokens, values, prompt)
    assert reading is not None
    assert reading.first == 5
    assert list(reading.pieces[5:]) == ["\u5979", "", " sat", "."]
    # A token that writes the end of the prompt and the beginning of the sentence.
    joined = ["<user>", "\n", "Who?", "\n\u5979", " sat", "."]
    assert read_echo(sentence, joined, values[: len(joined)], prompt) is None


@pytest.mark.parametrize("tokens", [[" She"], ["<s>", "Él"], ["Él", " ate", ".", " He"], []])
def test_tokens_that_are_not_the_sentence_are_no_reading(tokens: list[str]) -> None:
    assert read_echo("Él ate.", tokens, [None, -1.0, -1.0, -1.0][: len(tokens)]) is None


@pytest.mark.real
def test_a_running_server_agrees_with_the_same_weights() -> None:
    """Needs LMPROBE_SERVER_URL, and the folder of the same weights in LMPROBE_SERVER_WEIGHTS."""
    url, weights = map(os.environ.get, ("LMPROBE_SERVER_URL", "LMPROBE_SERVER_WEIGHTS"))
    if not url or not weights:
        pytest.skip("LMPROBE_SERVER_URL and LMPROBE_SERVER_WEIGHTS are not set")
    served = lmprobe.load_model(url, bos=os.environ.get("LMPROBE_SERVER_BOS"))
    local = lmprobe.load_model(weights)
    assert likelihood(served) == pytest.approx(likelihood(local), abs=1e-3)
    for row, expected in zip(probed(served).rows, probed(local).rows, strict=True):
        assert row.value == pytest.approx(expected.value, abs=1e-4)
