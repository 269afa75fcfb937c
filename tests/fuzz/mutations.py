"""How an input is damaged: its bytes, its lines, or the values of its JSON tree."""

from __future__ import annotations

import gzip
import json
import random
import re
import struct
from collections.abc import Callable
from typing import Any

import zstandard

Mutation = Callable[[random.Random, bytes], bytes]

# Values that a reader may meet where it expects another, as JSON has them.
RAW_JSON = (
    "null", "true", "false", "0", "-1", "-0.0", "1e308", "1e999", "-1e999", "NaN", "Infinity",
    "0.5", "9223372036854775808", "1" * 5000, '""', '" "', '"=1+1"', '"\\u001b[31mred\\u001b[0m"',
    '"\\ud800"', '"\\u0000"', '"a\\nb"', '"\\u202ereversed"', '"nan"', '"0.5"', '"<b>&"', "[]",
    "{}", "[[]]", "[null]", '{"a": 1}', "[1, 2]", '[["a"]]', "[" * 3000 + "]" * 3000,
    '{"a":' * 1200 + "1" + "}" * 1200, '"' + "x" * 20_000 + '"',
)  # fmt: skip

# Words that a line of text, TOML or CSV may hold.
SNIPPETS = (
    b"=1+1", b"@SUM(A1)", b"-1", b"1e999", b"nan", b"inf", b"1_000", b"\x00", b"\xff",
    b"\xed\xa0\x80",
    b"\x1b[2J", b"\xe2\x80\xae", b"\r", b"\n", b"\r\n", b"\t", b'"', b'""', b"'", b"''", b",", b";",
    b"{", b"}", b"{a:", b"[", b"]", b"[[", b"]]", b"#", b"\\", b"\\u", b"\xef\xbb\xbf", b"\xc2\x85",
    b"\xe2\x80\xa8", b"0x1F", b"1" * 5000, b"a" * 20_000, b"[" * 3000 + b"]" * 3000,
    b"[a" + b".a" * 1500 + b"]", b"true", b"1979-05-27", b"NA", b"0", b"-0", b" ", b"",
    "\u0661\u0662".encode(), "é".encode(), "e\u0301".encode(), b"{pronoun}", b"{occupation:plural}",
)  # fmt: skip

_TOKEN = re.compile(rb"[\w.+-]+|\"[^\"\n]*\"|[^\s\w]")


def damage_bytes(rng: random.Random, content: bytes) -> bytes:
    """Flip, cut, repeat, insert or overwrite a few bytes."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        if not data:
            break
        place = rng.randrange(len(data))
        match rng.randrange(7):
            case 0:
                data[place] ^= 1 << rng.randrange(8)
            case 1:
                del data[place:]
            case 2:
                end = min(len(data), place + rng.choice((1, 4, 64)))
                del data[place:end]
            case 3:
                data[place:place] = data[place : place + rng.choice((1, 8, 256))]
            case 4:
                data[place] = rng.choice((0, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            case 5:
                size = struct.pack("<Q", rng.choice((0, 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1)))
                data[place : place + 8] = size
            case _:
                data[place:place] = rng.choice(SNIPPETS)
    return bytes(data)


def damage_lines(rng: random.Random, content: bytes) -> bytes:
    """Delete, repeat, swap or change lines and the words in them."""
    lines = content.split(b"\n")
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        place = rng.randrange(len(lines))
        match rng.randrange(7):
            case 0:
                lines.pop(place)
            case 1:
                lines.insert(place, lines[rng.randrange(len(lines))])
            case 2:
                other = rng.randrange(len(lines))
                lines[place], lines[other] = lines[other], lines[place]
            case 3:
                lines.insert(place, rng.choice(SNIPPETS))
            case 4:
                return damage_bytes(rng, b"\n".join(lines))
            case _:
                tokens = list(_TOKEN.finditer(lines[place]))
                if tokens:
                    first = rng.choice(tokens)
                    line, new = lines[place], rng.choice(SNIPPETS)
                    keep = rng.choice((b"", first[0]))
                    lines[place] = line[: first.start()] + keep + new + line[first.end() :]
        lines = lines or [b""]
    return b"\n".join(lines)


def damage_json(rng: random.Random, content: bytes) -> bytes:
    """Replace, remove, move or repeat values anywhere in the tree; now and then the bytes."""
    if rng.random() < 0.1:
        return damage_bytes(rng, content)
    try:
        document = json.loads(content)
    except ValueError:
        return damage_bytes(rng, content)
    inserted: dict[str, str] = {}
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places = list(_places(document))
        if not places:
            break
        holder, key = rng.choice(places)
        match rng.randrange(8):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, list):
                holder.insert(key, holder[key])
            case 2:
                other, own = rng.choice(places)
                holder[key] = json.loads(json.dumps(other[own]))
            case 3 if isinstance(holder, dict):
                holder[rng.choice(("", "\x1b[1m", "=1", "a\nb", "kind", "value"))] = holder.pop(key)
            case 4 if isinstance(holder[key], int | float):
                holder[key] = rng.choice(
                    (-holder[key], holder[key] * 1e6, holder[key] + 1, str(key))
                )
            case _:
                mark = f"@@{len(inserted)}@@"
                inserted[f'"{mark}"'] = rng.choice(RAW_JSON)
                holder[key] = mark
    text = json.dumps(document, ensure_ascii=rng.random() < 0.5)
    for mark, raw in inserted.items():
        text = text.replace(mark, raw)
    return text.encode("utf-8", "surrogatepass")


def damage_json_lines(rng: random.Random, content: bytes) -> bytes:
    """Damage one line of JSON Lines, or the lines as lines."""
    if rng.random() < 0.4:
        return damage_lines(rng, content)
    lines = content.split(b"\n")
    place = rng.randrange(len(lines))
    lines[place] = damage_json(rng, lines[place])
    return b"\n".join(lines)


def packed(damage: Mutation, suffix: str) -> Mutation:
    """Damage what is inside a compressed file, or the compressed bytes."""

    def mutate(rng: random.Random, content: bytes) -> bytes:
        if rng.random() < 0.4:
            return damage_bytes(rng, content)
        plain = gzip.decompress(content) if suffix == ".gz" else zstandard.decompress(content)
        return pack(damage(rng, plain), suffix)

    return mutate


def pack(content: bytes, suffix: str) -> bytes:
    """Compress, always to the same bytes."""
    if suffix == ".gz":
        return gzip.compress(content, 1, mtime=0)
    return zstandard.ZstdCompressor().compress(content)


def damage_safetensors(rng: random.Random, content: bytes) -> bytes:
    """Damage the JSON header, its length, or the bytes anywhere."""
    size = struct.unpack("<Q", content[:8])[0]
    header, rest = content[8 : 8 + size], content[8 + size :]
    match rng.randrange(4):
        case 0:
            return damage_bytes(rng, content)
        case 1:
            return damage_bytes(rng, content[: 8 + size]) + rest
        case _:
            changed = damage_json(rng, header)
            return struct.pack("<Q", len(changed)) + changed + rest


def damage_head(rng: random.Random, content: bytes, *, size: int = 4096) -> bytes:
    """Damage the first bytes, where a binary file says what it is."""
    return damage_bytes(rng, content[:size]) + content[size:]


def _places(document: Any) -> list[tuple[Any, Any]]:
    """Return every (holder, key) of the tree."""
    actual: list[tuple[Any, Any]] = []
    waiting = [document]
    while waiting:
        holder = waiting.pop()
        keys = holder if isinstance(holder, dict) else range(len(holder))
        for key in keys:
            actual.append((holder, key))
            if isinstance(holder[key], dict | list):
                waiting.append(holder[key])
    return actual
