"""Tiny random checkpoints of many architectures, their tokenizers trained on the spot."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest

from lmprobe.models import Cloze
from lmprobe.models.forward import quiet_transformers

PRONOUNS = ("he", "she", "they")
JOBS = ("nurse", "baker", "janitor", "hairdresser", "engineer", "lawyer")
CORPUS = [
    sentence
    for who, job in product(("He", "She", "They"), JOBS[:-1])
    for sentence in (
        f"{who} became a new {job}, people said.",
        f"{who} had been a known {job} in the city for years.",
        f"The {job} said that {who.lower()} worked at night; {job} was the word.",
    )
]

SIZE: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 64,
    # Large, so that different words get clearly different probabilities.
    "initializer_range": 0.4,
}

# Architecture -> (its tokenizer, its config's own settings).
ARCHITECTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "Bert": ("BertTokenizer", {}),
    "DistilBert": (
        "DistilBertTokenizer",
        {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32},
    ),
    "Roberta": ("RobertaTokenizer", {}),
    "Albert": ("AlbertTokenizer", {"embedding_size": 8}),
    "Electra": ("BertTokenizer", {"embedding_size": 8}),
    "XLMRoberta": ("XLMRobertaTokenizer", {}),
    "DebertaV2": (
        "DebertaV2Tokenizer",
        {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_buckets": 8},
    ),
    "MPNet": ("MPNetTokenizer", {}),
    "ModernBert": (
        "RobertaTokenizer",
        {"local_attention": 4, "global_attn_every_n_layers": 2, "num_hidden_layers": 3},
    ),
    # Convolves: notices padding.
    "ConvBert": ("BertTokenizer", {"embedding_size": 16, "num_attention_heads": 4}),
    # Ignores its own output layer, so the hook never runs.
    "MobileBert": (
        "BertTokenizer",
        {"embedding_size": 8, "intra_bottleneck_size": 16, "true_hidden_size": 16},
    ),
}


@cache
def trained_tokenizer(kind: str) -> Any:
    """Return a tokenizer of that class, trained on the corpus, the same in every process.

    Training leaves ties and the last digits of scores to chance, and with them the ids of the
    tokens: every run would have other random models.
    """
    import transformers
    from tokenizers import Tokenizer

    tokenizer = getattr(transformers, kind)().train_new_from_iterator(CORPUS, 400)
    state = json.loads(tokenizer.backend_tokenizer.to_str())
    model, special = state["model"], [token["content"] for token in state["added_tokens"]]
    if model["type"] == "WordPiece":
        learned = _merged_pieces(tokenizer.backend_tokenizer)
        model["vocab"] = {piece: number for number, piece in enumerate((*special, *learned))}
    elif model["type"] == "Unigram":
        scores = {piece: round(score, 1) for piece, score in model["vocab"]}
        learned = sorted(set(scores) - set(special), key=lambda piece: (-scores[piece], piece))
        model["vocab"] = [[piece, scores[piece]] for piece in (*special, *learned)]
    tokenizer._tokenizer = Tokenizer.from_str(json.dumps(state))
    return tokenizer


def _merged_pieces(backend: Any) -> list[str]:
    """Return the letters of the corpus and the pieces that merging the likeliest pairs gives."""
    counts = Counter(
        word
        for sentence in CORPUS
        for word, _ in backend.pre_tokenizer.pre_tokenize_str(
            backend.normalizer.normalize_str(sentence)
        )
    )
    words = {word: [word[0], *(f"##{letter}" for letter in word[1:])] for word in counts}
    pieces = sorted({*"".join(words), *(piece for parts in words.values() for piece in parts)})
    while True:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, parts in words.items():
            for pair in pairwise(parts):
                pairs[pair] += counts[word]
        if not pairs:
            return pieces
        left, right = min(pairs, key=lambda pair: (-pairs[pair], pair))
        joined = left + right.removeprefix("##")
        pieces.append(joined)
        for parts in words.values():
            for place in reversed(range(len(parts) - 1)):
                if parts[place : place + 2] == [left, right]:
                    parts[place : place + 2] = [joined]


def cloze(text: str) -> Cloze:
    """Return the cloze of a sentence in which the word to guess stands in brackets."""
    start, end = text.index("["), text.index("]") - 1
    return Cloze(text.replace("[", "").replace("]", ""), start, end)


def save_checkpoint(folder: Path, architecture: str = "Bert", **settings: Any) -> Path:
    """Write a random model of that architecture, and its tokenizer, to a folder."""
    import torch
    import transformers

    kind, own = ARCHITECTURES[architecture]
    tokenizer = trained_tokenizer(kind)
    special = {
        f"{name}_token_id": getattr(tokenizer, f"{name}_token_id")
        for name in ("pad", "bos", "eos", "cls", "sep")
    }
    torch.manual_seed(1)
    with quiet_transformers():
        config = getattr(transformers, f"{architecture}Config")(
            vocab_size=len(tokenizer), **{**SIZE, **own, **special, **settings}
        )
        getattr(transformers, f"{architecture}ForMaskedLM")(config).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


Checkpoint = Callable[[str], Path]


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """Return the maker of checkpoints: an architecture's name -> its folder, made once."""
    made: dict[str, Path] = {}

    def folder(architecture: str) -> Path:
        if architecture not in made:
            path = tmp_path_factory.mktemp(architecture)
            made[architecture] = save_checkpoint(path, architecture)
        return made[architecture]

    return folder


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the scores of a test to itself."""
    folder = tmp_path / "lmprobe-cache"
    monkeypatch.setenv("LMPROBE_CACHE", str(folder))
    return folder
