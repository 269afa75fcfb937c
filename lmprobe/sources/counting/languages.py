"""Languages of text: where sentences end, how words are told apart and letters are written."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ahocorasick_rs import BytesAhoCorasick

from lmprobe.errors import InputError, did_you_mean

# As they are written: "No. 5" is an abbreviation, "he said no." is not.
_ENGLISH = (
    "Mr Mrs Ms Dr Prof Rev Hon Fr Sr Jr St Mt Ft Gen Col Lt Capt Cpt Sgt Cpl Pvt Maj Cmdr Adm Gov "
    "Sen Rep Pres Supt Insp Messrs Mme Mlle No Nos Vol Vols Ed Eds Dept Univ Inc Ltd Co Corp Bros "
    "Assn Ave Blvd Rd Fig Figs Op Ph Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec "
    "etc vs v cf al ca c approx est pp vol vols ed eds fig figs lit op cit nos"
)
_GERMAN = (
    "Dr Prof Hr Fr Nr Bd Abs Art Abb Aufl Hrsg Jh Jhd St Str Tel Univ Dipl Ing Mag Mio Mrd Chr "
    "Jan Feb Apr Aug Sept Okt Nov Dez bzw ca etc evtl geb gest ggf inkl jun sen sog usw vgl zzgl "
    "a b d h i m o s u v z"
)
_SPANISH = (
    "Sr Sra Srta Sres Dr Dra Prof Profa Lic Ing Arq Dña Ud Uds Vd Vds St Sta Sto Av Avda Gral Cía "
    "EE UU av avda pág págs vol núm cap art fig etc ej pp tel dpto a c d p"
)
_FRENCH = (
    "MM Mme Mmes Mlle Mlles Dr Pr Me St Ste Mgr av apr chap art vol éd etc cf env ex fig tél bd "
    "boul janv févr juill sept oct nov déc n no p pp"
)
_ITALIAN = (
    "Sig Sigg Sig.ra Sig.na Dott Dott.ssa Prof Prof.ssa Avv Ing Arch Geom Rag On St Mons sig sigg "
    "sig.ra sig.na dott dott.ssa prof prof.ssa avv ing arch geom rag ecc pag pagg vol cap art fig "
    "ca es a.C d.C gen feb mar apr mag giu lug ago set ott nov dic n nn p pp"
)
_PORTUGUESE = (
    "Sr Sra Srta Srs Dr Dra Prof Profa Eng Av Exmo Exma Sta Sto Jr Ltda Cia av pág págs vol núm "
    "cap art fig etc ex tel jan fev mar abr mai jun jul ago set out nov dez a d n p pp"
)
_RUSSIAN = (
    "г гг в вв т п тт пп др пр ул д кв им проф акад доц р руб коп тыс млн млрд см стр рис табл гл "
    "ст напр т.е т.д т.п т.к и.о"
)
# Plurals, which "they" is in English, and words that only contain the character.
_JAPANESE = "彼ら 彼等 彼たち 彼達 彼女ら 彼女等 彼女たち 彼女達 彼岸 彼方"
_CHINESE = (
    "他们 她们 他們 她們 其他 吉他 他人 他国 他國 他乡 他鄉 他日 他杀 他殺 他者 利他 排他 维他 "
    "維他 马耳他 馬耳他"
)


@dataclass(frozen=True, slots=True)
class Language:
    """The rules of one language."""

    code: str
    name: str
    abbreviations: frozenset[bytes] = frozenset()
    """Words after which a full stop ends no sentence, as they are written."""
    ordinals: bool = False
    """Whether a number with a full stop is an ordinal, as in "am 3. Mai"."""
    spaced: bool = True
    """Whether words have spaces between them."""
    longer_words: tuple[str, ...] = ()
    """Without spaces: common words that contain a word of people and are not about them."""


def _language(code: str, name: str, abbreviations: str = "", *, ordinals: bool = False) -> Language:
    words = frozenset(word.encode() for word in abbreviations.split())
    return Language(code, name, words, ordinals)


LANGUAGES = {
    language.code: language
    for language in (
        _language("de", "German", _GERMAN, ordinals=True),
        _language("en", "English", _ENGLISH),
        _language("es", "Spanish", _SPANISH),
        _language("fr", "French", _FRENCH),
        _language("it", "Italian", _ITALIAN),
        Language("ja", "Japanese", spaced=False, longer_words=tuple(_JAPANESE.split())),
        _language("ko", "Korean"),
        _language("pt", "Portuguese", _PORTUGUESE),
        _language("ru", "Russian", _RUSSIAN),
        Language("zh", "Chinese", spaced=False, longer_words=tuple(_CHINESE.split())),
    )
}
"""The languages that text can be counted in, by code."""


def language_of(code: str) -> Language:
    """Return the rules of a language, or say which there are."""
    if code not in LANGUAGES:
        hint = did_you_mean(code, LANGUAGES)
        raise InputError(f'no rules for counting in the language "{code}"; {hint}')
    return LANGUAGES[code]


# The bytes that such text has in UTF-8: accents (the lead bytes of U+0300 to U+036F), the soft
# hyphen; in Korean also the letters that syllables are made of, in Japanese the voicing marks.
_MARKS = (b"\xcc", b"\xcd", b"\xc2\xad")
_MORE = {"ja": (b"\xe3\x82\x99", b"\xe3\x82\x9a"), "ko": (b"\xe1\x84",)}


class Spelling:
    """Composes the text of one language, line by line.

    >>> Spelling("de").composed("Ko\u0308chin, Zahn\u00adarzt\\n".encode()).decode()
    'Köchin, Zahnarzt\\n'
    """

    def __init__(self, language: str) -> None:
        """Take the marks that text of the language may have."""
        # One search per mark: several at once, or `mark in block`, take many times as long.
        self._searches = [BytesAhoCorasick([mark]) for mark in (*_MARKS, *_MORE.get(language, ()))]

    def composed(self, block: bytes) -> bytes:
        """Return the block; only lines that have a mark are changed."""
        if block.isascii() or not self._marked(block):
            return block
        lines = block.splitlines(keepends=True)
        return b"".join(_composed(line) if self._marked(line) else line for line in lines)

    def _marked(self, text: bytes) -> bool:
        return any(search.find_matches_as_indexes(text) for search in self._searches)


def _composed(line: bytes) -> bytes:
    text = line.decode("utf-8", "replace").replace("\u00ad", "")
    return unicodedata.normalize("NFC", text).encode()


# Closing: " ' ) ] } and, in UTF-8, the curly quotes and the guillemet.
_CLOSING = rb"(?:[\"')\]}]|\xe2\x80\x99|\xe2\x80\x9d|\xc2\xbb)*+[ \t\v\f]++"
_END = re.compile(rb"[.!?]++" + _CLOSING + rb"(?![a-z])")
# Beside a-z the small letters that have two bytes in UTF-8, Latin with accents to Russian; a
# German quotation also closes with the quote that opens an English one.
_SMALL = rb"[a-z]|" + b"|".join(
    chr(code).encode() for code in range(0xDF, 0x530) if chr(code).islower()
)
_END_ABROAD = re.compile(rb"[.!?]++(?:\xe2\x80\x9c)?" + _CLOSING + rb"(?!" + _SMALL + rb")")
# 。！？ and the closing quotes and brackets 」』）”’ that may follow.
_END_UNSPACED = re.compile(
    rb"(?:\xe3\x80\x82|\xef\xbc\x81|\xef\xbc\x9f|[!?])++"
    rb"(?:\xe3\x80\x8d|\xe3\x80\x8f|\xef\xbc\x89|\xe2\x80\x9d|\xe2\x80\x99)*+"
)
_FULL_STOP = ord(".")
_DOTTED = re.compile(rb"(?:[A-Za-z]\.)+[A-Za-z]")
_ORDINAL = re.compile(rb"\d{1,2}")
# A word begins after white space, and after what opens a bracket or a quote.
_OPENING = bytes.maketrans(b"\t\v\f([{\"'", b" " * 8)
_WINDOW = 256


class Sentences:
    """Finds sentences by the rules of one language.

    >>> text = b"She met Dr. Who. He is a cook. Yes."
    >>> start, end = next(Sentences("en").around(text, [text.index(b"cook")]))
    >>> text[start:end]
    b'He is a cook. '
    """

    def __init__(self, language: str = "en") -> None:
        """Take the rules of a language."""
        self._language: Language = language_of(language)
        self._end = _END if language == "en" else _END_ABROAD
        # A word of more bytes than this is no abbreviation.
        longest = max(map(len, self._language.abbreviations), default=0)
        self._longest = max(12, longest)

    def around(self, block: bytes, places: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Yield start and end of each sentence of `block` that has one of the places.

        The places are in ascending order. Time is proportional to the length of the
        block, however long its lines are.
        """
        line = stop = done = 0
        for place in places:
            if place < done:
                continue
            if place >= stop:
                line = block.rfind(b"\n", stop, place) + 1
                stop = block.find(b"\n", place)
                stop = stop if stop >= 0 else len(block)
            start = self._start(block, max(line, done), place)
            done = self._stop(block, start, place, stop)
            yield start, done

    def _stop(self, block: bytes, line: int, place: int, stop: int) -> int:
        """Return the end of the sentence; it lies behind `place` and not behind `stop`."""
        for match in self._end.finditer(block, place, stop):
            if self._ends(block, match.start(), line):
                return match.end()
        return stop

    def _start(self, block: bytes, line: int, place: int) -> int:
        """Return where the last sentence end before `place` lies, searching ever further back."""
        width = _WINDOW
        while True:
            low = max(line, place - width)
            # One more byte lets the expression see whether the next letter is lower-case.
            for match in reversed(list(self._end.finditer(block, low, place + 2))):
                if match.end() <= place and self._ends(block, match.start(), line):
                    return match.end()
            if low == line:
                return line
            width *= 4

    def _ends(self, block: bytes, mark: int, line: int) -> bool:
        """Tell whether the punctuation from `mark` on ends a sentence.

        In the middle of a run such as "..." the answer is the same as at its beginning: yes.
        """
        if block[mark] != _FULL_STOP or block[mark + 1] in b".!?":
            return True
        before = block[max(line, mark - self._longest - 2) : mark]
        # Only one space: in "the end  ." the full stop belongs to no word.
        before = before[:-1] if before.endswith(b" ") else before
        word = before.translate(_OPENING).rpartition(b" ")[2]
        if len(word) > self._longest:
            return True
        if word in self._language.abbreviations or (b"." in word and _DOTTED.fullmatch(word)):
            return False
        if self._language.ordinals and _ORDINAL.fullmatch(word):
            return False
        # A letter has four bytes at most.
        initial = word.decode("utf-8", "ignore") if len(word) <= 4 else ""
        return not (len(initial) == 1 and initial.isupper())


def unspaced_ends(block: bytes) -> Iterator[int]:
    """Yield where each sentence ends in a language whose words have no spaces between."""
    done = 0
    for line in block.splitlines(keepends=True):
        for match in _END_UNSPACED.finditer(line):
            yield done + match.end()
        done += len(line)
        yield done
