"""Causal models against a slow loop: one sentence at a time, full logits, no reuse."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from lmprobe.errors import InputError, ModelError
from lmprobe.metrics.direction import Direction
from lmprobe.models import CausalModel, Cloze, TokenQuery, load_model
from lmprobe.models.forward import quiet_transformers
from lmprobe.models.language_model import WORD_START
from lmprobe.models.prefix_tree import TreeCheck
from lmprobe.models.scorers import mass_queries, score, sums
from lmprobe.probing.scores import score_directions
from lmprobe.templates import load_templates
from tests.checkpoints import CORPUS, JOBS, SIZE, cloze, own_cache

__all__ = ["own_cache"]

# Architecture -> (its tokenizer, its config's own settings).
CAUSAL: dict[str, tuple[str, dict[str, Any]]] = {
    "GPT2": ("bytes", {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64}),
    "Llama": ("metaspace", {"num_key_value_heads": 1}),
    "GPTNeoX": ("bytes", {}),
    "OPT": ("bytes+bos", {"ffn_dim": 32, "word_embed_proj_dim": 16}),
    "Bloom": ("bytes", {"n_layer": 2, "n_head": 2}),
    "Mistral": ("metaspace", {"num_key_value_heads": 1, "sliding_window": 32}),
    # Recurrent: nothing to reuse.
    "Mamba": ("bytes", {"state_size": 4, "expand": 1}),
}
_CLASS = {"GPT2": "GPT2LMHeadModel"}


@cache
def tokenizer_of(kind: str, start: str | None = "<s>", size: int = 480) -> Any:
    """Return a byte-level BPE or a SentencePiece-like tokenizer, trained on the corpus."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    special = [*([start] if start else []), "<pad>", "<unk>"]
    if kind == "metaspace":
        made = Tokenizer(models.Unigram())
        made.pre_tokenizer = pre_tokenizers.Metaspace()
        made.decoder = decoders.Metaspace()
        made.train_from_iterator(
            CORPUS,
            trainers.UnigramTrainer(vocab_size=120, special_tokens=special, unk_token="<unk>"),
        )
    else:
        made = Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        made.train_from_iterator(
            CORPUS,
            trainers.BpeTrainer(vocab_size=size, special_tokens=special, initial_alphabet=alphabet),
        )
    if kind.endswith("+bos"):
        made.post_processor = processors.TemplateProcessing(
            single=f"{start} $A {start}", special_tokens=[(start, 0)]
        )
    names = {"bos_token": start} if kind.endswith("+bos") or kind == "metaspace" else {}
    names |= {"eos_token": start} if start and "bos_token" not in names else {}
    side = "left" if kind == "bytes" else "right"
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", padding_side=side, model_max_length=64, **names
    )


def save_causal(folder: Path, architecture: str, tokenizer: Any = None, **settings: Any) -> Path:
    import transformers

    kind, own = CAUSAL[architecture]
    made = tokenizer or tokenizer_of(kind)
    torch.manual_seed(2)
    with quiet_transformers():
        config = getattr(transformers, f"{architecture}Config")(
            vocab_size=len(made), pad_token_id=1, **{**SIZE, **own, **settings}
        )
        name = _CLASS.get(architecture, f"{architecture}ForCausalLM")
        getattr(transformers, name)(config).save_pretrained(folder)
        made.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def causal(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    made: dict[str, Path] = {}

    def folder(architecture: str) -> Path:
        if architecture not in made:
            made[architecture] = save_causal(tmp_path_factory.mktemp(architecture), architecture)
        return made[architecture]

    return folder


# At the start, in the middle and at the end of the sentence; words of one to four and more pieces.
CLOZES = [
    cloze(text)
    for job in ("engineer", "bakers", "worker", "maker")
    for text in (
        f"[She] became a new {job}.",
        f"He became a new [{job}], people said.",
        f"They became a new [{job}], people said.",
        f"The known {job} said that [they] worked at night in the city for years.",
        f"[{job}]; the {job} worked",
        f"The word was [{job}]",
    )
]


def slow_log_likelihood(network: Any, ids: list[int]) -> float:
    with torch.no_grad():
        logits = network(input_ids=torch.tensor([ids])).logits[0].double().log_softmax(-1)
    return sum(float(logits[place - 1, ids[place]]) for place in range(1, len(ids)))


@pytest.mark.parametrize("architecture", CAUSAL)
def test_sentence_likelihoods_agree_with_a_slow_loop(
    architecture: str, causal: Callable[[str], Path]
) -> None:
    folder = causal(architecture)
    with quiet_transformers():
        network = AutoModelForCausalLM.from_pretrained(folder).eval()
        tokenizer = AutoTokenizer.from_pretrained(folder)
    start = tokenizer.convert_tokens_to_ids("<s>")
    expected = [
        slow_log_likelihood(
            network, [start, *tokenizer(item.text, add_special_tokens=False)["input_ids"]]
        )
        for item in CLOZES
    ]
    pieces = set()
    for size in (1, 5, "auto"):
        result = score(load_model(folder, batch_size=size), CLOZES)
        np.testing.assert_allclose(result.log_probability, expected, atol=1e-4)
        pieces |= set(result.pieces.tolist())
    assert {1, 2, 3} <= pieces
    assert max(pieces) > 3
    assert np.ptp(expected) > 1


def test_beginnings_run_once_and_the_head_where_a_token_is_asked_for(tmp_path: Path) -> None:
    model = load_model(save_causal(tmp_path, "Llama", max_position_embeddings=256))
    sentences = [
        cloze(f"{who} had been a known [{job}] in the city.")
        for who in ("They", "She")
        for job in JOBS
    ]
    score(model, sentences)  # The first time, trees are tried out.
    read, headed = [], []
    hooks = [
        model.network.register_forward_pre_hook(
            lambda _, __, inputs: read.append(tuple(inputs["input_ids"].shape)), with_kwargs=True
        ),
        model.network.get_output_embeddings().register_forward_hook(
            lambda _, __, output: headed.append(output.shape[1])
        ),
    ]
    result = score(model, sentences * 2)
    for hook in hooks:
        hook.remove()
    # The last token is predicted, not read.
    ids = [sentence.ids[:-1] for sentence in model.encode(sentences)]
    beginnings = {row[:end] for row in ids for end in range(1, len(row) + 1)}
    assert read == [(1, len(beginnings))], "one pass, each beginning once, no padding"
    assert headed == [len(beginnings)]
    assert len(beginnings) < 0.8 * sum(map(len, ids))
    np.testing.assert_array_equal(*np.split(result.log_probability, 2))


@pytest.mark.parametrize(
    ("architecture", "settings", "trees"),
    [
        *((name, {}, True) for name in ("GPT2", "Llama", "GPTNeoX", "OPT")),
        ("Bloom", {}, False),  # Its positions are distances within the row.
        ("Mamba", {}, False),  # Recurrent.
        ("Mistral", {"sliding_window": 64}, True),
        ("Mistral", {"sliding_window": 5}, False),  # Sees the nearest tokens only.
    ],
)
def test_which_networks_read_trees(
    architecture: str, settings: dict[str, Any], trees: bool, tmp_path: Path
) -> None:
    """Where they are not read as meant, sentences run one by one, with the same answers."""
    folder = save_causal(tmp_path, architecture, **settings)
    model = load_model(folder)
    result = score(model, CLOZES).log_probability
    long = [item.ids for item in model.encode(CLOZES)]
    check = TreeCheck()
    assert check.reads_trees(model.network, long) is trees
    if settings:
        assert check.reads_trees(model.network, [item[:5] for item in long])
    slow = [slow_log_likelihood(model.network, list(ids)) for ids in long]
    np.testing.assert_allclose(result, slow, atol=1e-4)


@pytest.mark.parametrize("architecture", ["Llama", "Bloom"])
def test_smaller_trees_and_batches_when_memory_runs_out(
    architecture: str, causal: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_model(causal(architecture))
    expected = score(model, CLOZES).log_probability
    forward, tried = model.network.forward, []

    def small(**inputs: Any) -> Any:
        tried.append(inputs["input_ids"].numel())
        if tried[-1] > 45:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(**inputs)

    monkeypatch.setattr(model.network, "forward", small)
    done: list[tuple[int, int]] = []
    result = score(model, CLOZES, progress=lambda *step: done.append(step)).log_probability
    np.testing.assert_allclose(result, expected, atol=1e-4)
    assert tried[0] > 45
    assert done[-1][0] == done[-1][1]


def test_a_network_that_sees_the_answer_is_refused() -> None:
    """CPM-Ant is listed among the causal models, but without further input it reads both ways."""
    from transformers import CpmAntConfig, CpmAntForCausalLM

    tokenizer = tokenizer_of("bytes")
    torch.manual_seed(0)
    config = CpmAntConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        dim_head=8,
        dim_ff=16,
        init_std=0.3,
    )
    model = load_model(CpmAntForCausalLM(config), tokenizer=tokenizer)
    with pytest.raises(ModelError, match="CpmAntForCausalLM is no causal model"):
        score(model, CLOZES)


def words_from(model: CausalModel, longest: int, at_start: bool) -> list[tuple[int, ...]]:
    """Every word of at most `longest` tokens: one that begins a word, then ones that do not."""
    starts = np.flatnonzero(model.word_tokens.begins).tolist()
    others = np.flatnonzero(~model.word_tokens.begins).tolist()
    first = starts if not at_start else range(len(model.word_tokens.begins))
    return [
        (item, *rest)
        for length in range(longest)
        for item in first
        for rest in itertools.product(others, repeat=length)
    ]


@pytest.mark.parametrize("at_start", [False, True])
def test_all_words_sum_to_one(at_start: bool, tmp_path: Path) -> None:
    """The mass of every possible word, of any length, after the same words: a toy vocabulary.

    Longer words than three tokens are left out; what they would have is the probability that
    the third token is followed by one that does not begin a word.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {"<s>": 0, "▁a": 1, "▁b": 2, "c": 3, "d": 4, ".": 5}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="."))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="<s>")
    model = load_model(save_causal(tmp_path, "Llama", tokenizer))
    assert isinstance(model, CausalModel)
    assert model.word_tokens.begins.tolist() == [True, True, True, False, False, True]
    before = (0,) if at_start else (0, 1, 5, 2)
    words = words_from(model, 3, at_start)
    queried, subtracted = [], []
    (base,) = model.encode([Cloze("a", 0, 1)])
    for word in words:
        span = (len(before), len(before) + len(word))
        sentence = replace(
            base, ids=(*before, *word), word=span, differing=(span,), boundary=(True, True)
        )
        queries = mass_queries(sentence, "causal")
        queried.append(queries.added)
        subtracted.append(queries.subtracted)
    assert [len(item) for item in subtracted] == [0 if at_start else 1] * len(words)
    mass = np.exp(sums(model, queried) - sums(model, subtracted))
    # What longer words have: begin, three tokens, no word after them.
    longer = []
    for word in (word for word in words if len(word) == 3):
        ids = (*before, *word)
        queries = [TokenQuery(ids, place, ids[place]) for place in range(len(before), len(ids))]
        value = sums(model, [queries, [TokenQuery(ids, len(ids), WORD_START)]])
        less = sums(model, [[TokenQuery(ids, len(before), WORD_START)]])[0] if not at_start else 0
        longer.append(np.exp(value[0] - less) * (1 - np.exp(value[1])))
    assert mass.sum() + sum(longer) == pytest.approx(1, abs=1e-5)
    split = sum(share for share, word in zip(mass, words, strict=True) if len(word) > 1)
    assert split > 1e-3, "words of several tokens count"


def test_which_tokens_begin_a_word() -> None:
    from lmprobe.models.language_model import word_tokens

    for kind in ("bytes", "metaspace"):
        tokenizer = copy.deepcopy(tokenizer_of(kind))
        # Looks like the sign of a WordPiece vocabulary, and is a heading.
        tokenizer.add_tokens(["##"])
        result = word_tokens(tokenizer)
        starts = result.begins
        tokens = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
        begins = {token for token, start in zip(tokens, starts, strict=True) if start}
        assert {"<s>", "<pad>", ".", ","} <= begins
        space = "Ġ" if kind == "bytes" else "▁"
        assert all(token in begins for token in tokens if token.startswith(space))
        assert not begins & {"e", "r", "n", "0", "Ã"}
        words = {token for token, alpha in zip(tokens, result.letters, strict=True) if alpha}
        assert f"{space}became" in words or "e" in words
        assert not words & {".", ",", "<s>", "##", "0"}


def test_the_mass_belongs_to_the_direction(causal: Callable[[str], Path]) -> None:
    """Both directions share the likelihoods; their candidates are other words."""
    templates = load_templates("neutral")
    model = load_model(causal("GPT2"))
    result = score_directions(model, templates, tasks=templates.tasks[:3])
    guessed = {first: scores.log_mass for first, scores in result.items()}
    likelihood = [scores.log_probability for scores in result.values()]
    np.testing.assert_array_equal(*likelihood)
    for mass in guessed.values():
        assert mass is not None
        assert (mass < 0).all()
    attribute, task = guessed.values()
    assert np.ptp(attribute, axis=2).max() < 1e-5, "P(he) at the start, whatever follows"
    assert np.ptp(task, axis=1).min() > 1e-4
    scores = result[Direction.TASK_TO_ATTRIBUTE]
    shares = np.exp(likelihood[0] - np.logaddexp.reduce(likelihood[0], axis=1, keepdims=True))
    np.testing.assert_allclose(scores.probabilities(), shares, atol=1e-12)


def test_without_any_start_the_first_word_cannot_be_guessed(tmp_path: Path) -> None:
    model = load_model(save_causal(tmp_path, "GPT2", tokenizer_of("bytes", None)))
    with pytest.raises(ModelError, match="neither a beginning-of-text nor an end-of-text token"):
        score(model, [cloze("[She] worked.")])
    result = score(model, [cloze("The [nurse] worked.")])
    (encoded,) = model.encode([cloze("The [nurse] worked.")])
    slow = slow_log_likelihood(model.network, list(encoded.ids))
    assert result.log_probability[0] == pytest.approx(slow, abs=1e-4)


def test_what_belongs_to_the_other_kind_is_refused(causal: Callable[[str], Path]) -> None:
    model = load_model(causal("GPT2"))
    with pytest.raises(InputError, match='scorer "word-l2r" is for masked models'):
        score(model, CLOZES[:1], scorer="word-l2r")
    with pytest.raises(InputError, match="a prior needs a masked model"):
        score_directions(model, load_templates("neutral"), prior=True)
