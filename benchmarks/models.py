"""How fast a whole probe is, beside the ways in which people probe a model today.

Random models of bert-base's and of SmolLM2-135M's size are asked the paper's questions: 20
templates, 32 occupations and 2 pronouns, in both directions.

  lmprobe    `lmprobe.probe` without the cache, interval and verdict included
  encoder    the encoder alone, without head, on the distinct sequences that the scorer needs,
             sorted by length and not padded
  pipeline   transformers' fill-mask pipeline, 64 sentences at a time, candidates as targets
  batches    of a causal model: padded batches of 64 sentences, full logits
  loop       one sentence at a time, as FitBERT does

    python benchmarks/models.py [--vocabulary vocab.txt] [--rounds 3] [--before CHECKOUT]

With `--before`, the lmprobe of another checkout is measured in the same turns.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from measure import Measured, compared, environment, measured, report

PAIR = ("he", "she")
BATCH = 64
"""Sentences at a time, for the pipeline and for plain batches of a causal model."""
TOKENS = 1024
"""Tokens at a time for the bare encoder."""
MASKED, CAUSAL = "masked", "causal"
SCORERS = {MASKED: ("difference-l2r", "first-piece"), CAUSAL: ("sentence",)}
WAYS = {
    "before": "lmprobe before",
    "lmprobe": "lmprobe",
    "encoder": "the encoder alone on the sequences needed, no head, no padding",
    "pipeline": f"fill-mask pipeline, {BATCH} at a time",
    "batches": f"padded batches of {BATCH}",
    "loop": "one sentence at a time",
}
PEERS = {MASKED: ("encoder", "pipeline", "loop"), CAUSAL: ("batches", "loop")}


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--vocabulary", type=Path, help="BERT's vocab.txt; else one is made up")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--before", type=Path, help="a checkout of an earlier version")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--do", nargs=3, help="measure in this process: way, scorer, checkpoint")
    options = parser.parse_args()
    if options.do:
        do(*options.do)
        return
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        make_masked(Path(folder, MASKED), options.vocabulary)
        make_causal(Path(folder, CAUSAL))
        for kind, scorers in SCORERS.items():
            for scorer in scorers:
                ways = ways_of(kind, scorer, Path(folder, kind), options.before)
                results[f"{kind}, {scorer}"] = show(
                    f"{kind}, {scorer}", compared(ways, options.rounds)
                )
    document = {"results": results, **environment()}
    if options.json:
        options.json.write_text(json.dumps(document, indent=1) + "\n")


def ways_of(
    kind: str, scorer: str, folder: Path, before: Path | None
) -> dict[str, Callable[[], Measured]]:
    """Return how each way is measured; a loop over whole words would be another program."""
    peers = [way for way in PEERS[kind] if scorer != "difference-l2r" or way == "encoder"]
    words: dict[str, list[str | Path]] = {
        way: [__file__, "--do", way, scorer, folder] for way in ("lmprobe", *peers)
    }
    ways = {way: partial(measured, command) for way, command in words.items()}
    return (
        ways if before is None else {"before": partial(measured, words["lmprobe"], before)} | ways
    )


def show(title: str, results: dict[str, Measured]) -> dict[str, Measured]:
    """Print the times beside that of lmprobe."""
    print(f"{title:28}{'seconds':>9}{'lmprobe is':>14}{'processor':>11}{'memory':>10}")
    own = results["lmprobe"]["seconds"]
    for way, took in results.items():
        print(
            f"{way:28}{took['seconds']:9.2f}{took['seconds'] / own:12.2f} x"
            f"{took['processor_seconds']:11.2f}{took['megabytes']:7.0f} MB",
            flush=True,
        )
    return results


def do(way: str, scorer: str, folder: str) -> None:
    """Do the work of one way, after a little of it: imports and compiled code are not counted."""
    import transformers

    from lmprobe.templates import load_templates

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    warnings.simplefilter("ignore")
    templates = load_templates("fitbert").templates
    work: Callable[[Any], Any] = {
        "lmprobe": probing,
        "encoder": encoding,
        "pipeline": filling,
        "batches": partial(sentence_batches, size=BATCH),
        "loop": filling_one_by_one if scorer == "first-piece" else sentence_batches,
    }[way](folder, scorer)
    work(templates[:1])
    report(lambda: work(templates))


def probing(folder: str, scorer: str) -> Callable[[Any], None]:
    from dataclasses import replace

    import lmprobe
    from lmprobe.templates import load_templates

    fitbert = load_templates("fitbert")
    model = lmprobe.load_model(folder, device="cpu")

    def run(templates: Any) -> None:
        chosen = replace(fitbert, templates=templates)
        lmprobe.probe(model, chosen, "labor", attributes=PAIR, scorer=scorer, cache=False)

    return run


def sentences_of(templates: Any) -> list[Any]:
    from lmprobe.templates import load_templates

    tasks = load_templates("fitbert").tasks
    return [
        template.sentence(who, what) for template in templates for who in PAIR for what in tasks
    ]


def encoding(folder: str, scorer: str) -> Callable[[Any], None]:
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    network = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()

    def masked(sentence: Any) -> set[tuple[int, ...]]:
        """Mask the pronoun, then the occupation: from each of its pieces on, or with one mask."""
        tokens = tokenizer(sentence.text, return_offsets_mapping=True)
        ids, sequences = tokens["input_ids"], set()
        for start, end in (sentence.attribute_span, sentence.task_span):
            inside = [
                number
                for number, (left, right) in enumerate(tokens["offset_mapping"])
                if left < right and start <= left and right <= end
            ]
            last = inside[-1] + 1
            for first in inside[:1] if scorer == "first-piece" else inside:
                masks = 1 if scorer == "first-piece" else last - first
                sequences.add((*ids[:first], *[tokenizer.mask_token_id] * masks, *ids[last:]))
        return sequences

    def run(templates: Any) -> None:
        needed = sorted(set().union(*map(masked, sentences_of(templates))), key=len)
        with torch.inference_mode():
            for length, equal in groupby(needed, len):
                rows = torch.tensor(list(equal))
                for part in rows.split(TOKENS // length):
                    network.base_model(input_ids=part)

    return run


def masked_texts(templates: Any) -> dict[str, list[str]]:
    """Return the different masked sentences, each with its candidates."""
    texts: dict[str, list[str]] = {}
    for sentence in sentences_of(templates):
        for start, end in (sentence.attribute_span, sentence.task_span):
            masked = f"{sentence.text[:start]}[MASK]{sentence.text[end:]}"
            texts.setdefault(masked, []).append(sentence.text[start:end].lower())
    return texts


def filling(folder: str, scorer: str) -> Callable[[Any], None]:
    import transformers

    fill = transformers.pipeline("fill-mask", model=folder, device="cpu")

    def run(templates: Any) -> None:
        groups: dict[tuple[str, ...], list[str]] = {}
        for text, candidates in masked_texts(templates).items():
            groups.setdefault(tuple(sorted(set(candidates))), []).append(text)
        # One call per list of candidates, which all its sentences share.
        for candidates, texts in groups.items():
            fill(texts, targets=list(candidates), top_k=len(candidates), batch_size=BATCH)

    return run


def filling_one_by_one(folder: str, scorer: str) -> Callable[[Any], None]:
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    network = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()

    def run(templates: Any) -> None:
        for text, candidates in masked_texts(templates).items():
            tokens = tokenizer(text, return_tensors="pt")
            with torch.inference_mode():
                logits = network(**tokens).logits
            place = tokens["input_ids"][0].tolist().index(tokenizer.mask_token_id)
            shares = logits[0, place].softmax(-1)
            shares[[tokenizer(word)["input_ids"][1] for word in set(candidates)]].tolist()

    return run


def sentence_batches(folder: str, scorer: str, size: int = 1) -> Callable[[Any], None]:
    """Score whole sentences, sorted by length and padded on the right, with full logits."""
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    network = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()

    def run(templates: Any) -> None:
        start = [tokenizer.bos_token_id]
        rows = sorted(
            (start + tokenizer(sentence.text)["input_ids"] for sentence in sentences_of(templates)),
            key=len,
        )
        for first in range(0, len(rows), size):
            part = rows[first : first + size]
            longest = max(map(len, part))
            ids = torch.tensor([row + [0] * (longest - len(row)) for row in part])
            read = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in part])
            with torch.inference_mode():
                logits = network(input_ids=ids, attention_mask=read).logits
                shares = logits[:, :-1].log_softmax(-1).gather(2, ids[:, 1:, None])[..., 0]
                (shares * read[:, 1:]).sum(1).tolist()

    return run


def make_masked(folder: Path, vocabulary: Path | None) -> None:
    """Write a random model with BERT's default configuration, which is bert-base."""
    import torch
    import transformers

    from lmprobe.templates import load_templates

    folder.mkdir()
    if vocabulary is None:
        fitbert = load_templates("fitbert")
        sentences = " ".join(sentence.text for sentence in sentences_of(fitbert.templates))
        words = {*sentences.lower().replace(".", " . ").split()}
        tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted(words)]
        tokens += [f"filler{number}" for number in range(30522 - len(tokens))]
        vocabulary = folder / "vocab.txt"
        vocabulary.write_text("\n".join(tokens) + "\n")
    torch.manual_seed(0)
    transformers.BertForMaskedLM(transformers.BertConfig()).save_pretrained(folder)
    transformers.BertTokenizer(vocab=str(vocabulary)).save_pretrained(folder)


def make_causal(folder: Path) -> None:
    """Write a random Llama of SmolLM2-135M's size, with a tokenizer that knows every word."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    from lmprobe.templates import load_templates

    texts = [sentence.text for sentence in sentences_of(load_templates("fitbert").templates)]
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=360, special_tokens=["<s>"], show_progress=False)
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<s>", eos_token="<s>", pad_token="<s>"
    )
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=49152,
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    main()
