"""The runner against a slow loop: one sentence, full logits, no hook, masks set by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer, pipeline

from lmprobe.errors import ModelError
from lmprobe.models import Cloze, TokenQuery, load_model
from lmprobe.models.forward import fast_products, quiet_transformers
from lmprobe.models.scorers import score
from tests.checkpoints import ARCHITECTURES, JOBS, PRONOUNS, checkpoint, cloze

__all__ = ["checkpoint"]

Checkpoint = Callable[[str], Path]


# Of different lengths, so that batches need padding; words at the start, within, before a comma.
CLOZES = [
    cloze(text)
    for job in JOBS[-4:]
    for text in (
        f"[She] became a new {job}.",
        f"He became a new [{job}], people said.",
        f"The known {job} said that [they] worked at night in the city for years.",
        f"[{job}]; the {job} worked.",
    )
]


def squeezed(text: str) -> str:
    return "".join(text.split()).lower()


def pieces_by_decoding(tokenizer: Any, ids: Sequence[int], single: Cloze) -> tuple[int, int]:
    """Find the word's tokens by decoding every range: another way than character offsets."""

    def reads(part: Sequence[int], text: str) -> bool:
        return squeezed(tokenizer.decode(part, skip_special_tokens=True)) == squeezed(text)

    for first in range(1, len(ids)):
        for last in range(first + 1, len(ids)):
            if (
                reads(ids[:first], single.text[: single.start])
                and reads(ids[first:last], single.word)
                and reads(ids[last:], single.text[single.end :])
            ):
                return first, last
    raise AssertionError(f"no tokens decode to {single.word!r}")


def slow_score(
    network: Any, mask: int, ids: Sequence[int], word: tuple[int, int], scorer: str
) -> float:
    first, last = word
    total = 0.0
    for number in range(first, last):
        masked = list(ids)
        for other in range(first, last):
            if scorer == "joint" or other >= number:
                masked[other] = mask
        if scorer == "first-piece":
            masked[first:last] = [mask]
        with torch.no_grad():
            logits = network(input_ids=torch.tensor([masked])).logits
        total += float(logits[0, number].double().log_softmax(-1)[ids[number]])
        if scorer == "first-piece":
            break
    return total


@pytest.fixture(scope="module", params=ARCHITECTURES)
def architecture(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.filterwarnings("ignore::lmprobe.models.scorers.SplitWordWarning")
def test_every_architecture_agrees_with_a_slow_loop(
    architecture: str, checkpoint: Checkpoint
) -> None:
    folder = checkpoint(architecture)
    with quiet_transformers():
        network = AutoModelForMaskedLM.from_pretrained(folder).eval()
        tokenizer = AutoTokenizer.from_pretrained(folder)
    model = load_model(folder)
    ids = [tokenizer(item.text)["input_ids"] for item in CLOZES]
    words = [pieces_by_decoding(tokenizer, *row) for row in zip(ids, CLOZES, strict=True)]
    assert any(last - first > 1 for first, last in words), "some word must be split"
    for scorer in ("first-piece", "joint", "word-l2r"):
        expected = [
            slow_score(network, tokenizer.mask_token_id, *row, scorer)
            for row in zip(ids, words, strict=True)
        ]
        result = score(model, CLOZES, scorer=scorer)
        assert result.pieces.tolist() == [last - first for first, last in words]
        np.testing.assert_allclose(result.log_probability, expected, atol=1e-4)
        assert np.ptp(result.log_probability) > 0.1


def test_batch_size_order_and_padding_change_nothing(
    architecture: str, checkpoint: Checkpoint
) -> None:
    folder = checkpoint(architecture)
    alone = score(load_model(folder, batch_size=1), CLOZES).log_probability
    for size in (5, "auto"):
        model = load_model(folder, batch_size=size)
        for order in (range(len(CLOZES)), reversed(range(len(CLOZES)))):
            places = list(order)
            result = score(model, [CLOZES[n] for n in places])
            np.testing.assert_allclose(
                np.exp(result.log_probability), np.exp(alone[places]), atol=1e-5
            )
            np.testing.assert_allclose(result.log_probability, alone[places], atol=1e-4)


@pytest.mark.parametrize("architecture", ["Bert", "Roberta", "MobileBert"])
def test_single_tokens_agree_with_the_fill_mask_pipeline(
    architecture: str, checkpoint: Checkpoint
) -> None:
    folder = checkpoint(architecture)
    model = load_model(folder)
    clozes = [cloze(f"The nurse said that [{who}] worked.") for who in PRONOUNS]
    result = score(model, clozes)
    assert result.pieces.tolist() == [1, 1, 1]
    with quiet_transformers():
        fill = pipeline("fill-mask", model=str(folder), device="cpu")
    # A mask stands for the word and the space before it where the space belongs to the token.
    space = "" if architecture == "Roberta" else " "
    text = f"The nurse said that{space}{model.tokenizer.mask_token} worked."
    targets = [
        model.tokenizer.convert_ids_to_tokens(cloze.pieces)[0] for cloze in model.encode(clozes)
    ]
    for target, value in zip(targets, result.log_probability, strict=True):
        answer = fill(text, targets=[target])[0]
        assert answer["score"] == pytest.approx(np.exp(value), abs=1e-6)


def test_each_masked_sentence_runs_once_and_the_head_where_a_token_is_asked_for(
    checkpoint: Checkpoint,
) -> None:
    model = load_model(checkpoint("Bert"), batch_size="4")
    score(model, CLOZES)  # The first time, padding is tried out.
    read: list[tuple[int, int]] = []
    headed: list[int] = []
    hooks = [
        model.network.register_forward_pre_hook(
            lambda _, __, inputs: read.append(tuple(inputs["input_ids"].shape)), with_kwargs=True
        ),
        model.network.get_output_embeddings().register_forward_hook(
            lambda _, __, output: headed.append(output.shape[1])
        ),
    ]
    score(model, CLOZES * 2)
    queries = {query for item in model.encode(CLOZES) for query in item.masked(
        item.differing, left_to_right=True)}  # fmt: skip
    assert sum(rows for rows, _ in read) == len({query.ids for query in queries})
    assert sum(headed) == len({(query.ids, query.position) for query in queries})
    read.clear()
    score(model, [cloze(f"The nurse said that [{who}] worked.") for who in PRONOUNS])
    assert [rows for rows, _ in read] == [1]
    for hook in hooks:
        hook.remove()


@pytest.mark.parametrize(
    "problem",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"),
    ],
)
def test_the_automatic_batch_is_halved_when_memory_runs_out(
    problem: Exception, checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_model(checkpoint("Bert"))
    clozes = [cloze(f"The {job} met a {other}; [they] left.") for job in JOBS for other in JOBS]
    expected = score(model, clozes).log_probability
    forward, tried = model.network.forward, []

    def small(**inputs: Any) -> Any:
        tried.append(len(inputs["input_ids"]))
        if tried[-1] > 3:
            raise problem
        return forward(**inputs)

    monkeypatch.setattr(model.network, "forward", small)
    done: list[tuple[int, int]] = []
    result = score(model, clozes, progress=lambda *step: done.append(step)).log_probability
    np.testing.assert_allclose(result, expected, atol=1e-4)
    assert tried[0] > tried[1] > 3 >= tried[-1]
    assert done[-1][0] == done[-1][1] == sum(n for n in tried if n <= 3)


def test_memory_too_small_for_one_sentence_is_an_error(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(**inputs: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory")

    for size, hint in (("auto", "smaller model"), (2, '"auto"')):
        model = load_model(checkpoint("Bert"), batch_size=size)
        monkeypatch.setattr(model.network, "forward", never)
        with pytest.raises(ModelError, match=f"out of memory with .* tokens; .*{hint}"):
            score(model, CLOZES)


def test_nothing_asked_nothing_run_and_not_a_number_is_an_error(checkpoint: Checkpoint) -> None:
    model = load_model(checkpoint("Bert"))
    assert score(model, []).log_probability.shape == (0,)
    with torch.no_grad():
        model.network.get_output_embeddings().weight[:] = float("nan")
    with pytest.raises(ModelError, match="not a number"):
        score(model, CLOZES[:1])


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_dtype(dtype: str, checkpoint: Checkpoint) -> None:
    expected = score(load_model(checkpoint("Bert")), CLOZES).log_probability
    result = score(load_model(checkpoint("Bert"), dtype=dtype), CLOZES).log_probability
    np.testing.assert_allclose(result, expected, atol=1e-5 if dtype == "float64" else 1)
    assert not np.array_equal(result, expected)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
def test_cuda_agrees_with_the_cpu(architecture: str, checkpoint: Checkpoint) -> None:
    folder = checkpoint(architecture)
    on_cpu = score(load_model(folder, device="cpu"), CLOZES).log_probability
    on_gpu = score(load_model(folder, device="cuda"), CLOZES).log_probability
    np.testing.assert_allclose(np.exp(on_gpu), np.exp(on_cpu), atol=1e-5)


def test_token_types_reach_the_network(checkpoint: Checkpoint) -> None:
    """The same tokens with other types are another sentence; the padding is of type 0."""
    model = load_model(checkpoint("Bert"))
    queries = [
        TokenQuery((2, 7, 4, 9, 3), 2, 8, (0, 1, 1, 1, 1)),
        TokenQuery((2, 4, 3), 1, 6, (0, 0, 1)),
        TokenQuery((2, 4, 3), 1, 6, (0, 1, 1)),
        TokenQuery((2, 4, 3), 1, 6, (0, 0, 0)),
    ]
    result = model.log_probabilities(queries)
    for query, value in zip(queries, result, strict=True):
        ids, types = torch.tensor([query.ids]), torch.tensor([query.segments])
        with torch.no_grad():
            logits = model.network(input_ids=ids, token_type_ids=types).logits[0, query.position]
        expected = float(logits.double().log_softmax(-1)[query.token])
        assert value == pytest.approx(expected, abs=5e-5)
    assert len(set(result.round(4))) == len(queries)
    untyped = model.log_probabilities([TokenQuery((2, 4, 3), 1, 6)])
    assert untyped == pytest.approx(result[-1:], abs=5e-5), "no types are types of 0"


@pytest.mark.parametrize("start", ["highest", "high"])
def test_products_are_as_accurate_as_before_and_the_setting_is_restored(start: str) -> None:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(start)
    first, second = torch.randn(300, 512), torch.randn(512, 400)
    exact = first.double() @ second.double()
    try:
        with fast_products("cpu"):
            result = first @ second
        assert torch.get_float32_matmul_precision() == start
        with fast_products("cuda:0"):
            assert torch.get_float32_matmul_precision() == start
    finally:
        torch.set_float32_matmul_precision(before)
    # Rounded to bfloat16 they would differ by 0.1.
    torch.testing.assert_close(result.double(), exact, rtol=0, atol=1e-3)
