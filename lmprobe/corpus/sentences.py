"""Finds the sentence round a place in a line of English text.

A sentence ends at "." "!" or "?" (with the quotes and brackets that close after it) when
white space follows and then anything but a lower-case letter a-z, unless a single full stop
ends an abbreviation ("Dr."), an initial ("J.") or a dotted one ("U.S."). A line always ends
a sentence. Text whose tokens stand apart ("the end . Next") is read the same way. The rule
looks at a few characters only, so a sentence can be found without reading the rest.
"""

from __future__ import annotations

import re

# Closing: " ' ) ] } and, in UTF-8, the curly quotes and the guillemet.
_END = re.compile(rb"[.!?]++(?:[\"')\]}]|\xe2\x80\x99|\xe2\x80\x9d|\xc2\xbb)*+[ \t\v\f]++(?![a-z])")
_FULL_STOP = ord(".")
_DOTTED = re.compile(rb"(?:[A-Za-z]\.)+[A-Za-z]")
# A word begins after white space, and after what opens a bracket or a quote.
_OPENING = bytes.maketrans(b"\t\v\f([{\"'", b" " * 8)
# A word of more bytes than this is no abbreviation.
_LONGEST = 12
_WINDOW = 256

# As they are written: "No. 5" is an abbreviation, "he said no." is not.
ABBREVIATIONS = frozenset(
    b"Mr Mrs Ms Dr Prof Rev Hon Fr Sr Jr St Mt Ft Gen Col Lt Capt Cpt Sgt Cpl Pvt Maj Cmdr Adm Gov "
    b"Sen Rep Pres Supt Insp Messrs Mme Mlle No Nos Vol Vols Ed Eds Dept Univ Inc Ltd Co Corp Bros "
    b"Assn Ave Blvd Rd Fig Figs Op Ph Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec "
    b"etc vs v cf al ca c approx est pp vol vols ed eds fig figs lit op cit nos".split()
)


def sentence_round(block: bytes, place: int) -> tuple[int, int]:
    """Return start and end of the sentence of `block` that holds the letter at `place`.

    >>> text = b"She met Dr. Who. He is a cook. Yes."
    >>> start, end = sentence_round(text, text.index(b"cook"))
    >>> text[start:end]
    b'He is a cook. '
    """
    line = block.rfind(b"\n", 0, place) + 1
    stop = block.find(b"\n", place)
    stop = stop if stop >= 0 else len(block)
    end = stop
    for match in _END.finditer(block, place, stop):
        if _ends(block, match.start(), line):
            end = match.end()
            break
    return _start(block, line, place), end


def _start(block: bytes, line: int, place: int) -> int:
    """Return where the last sentence end before `place` lies, searching ever further back."""
    width = _WINDOW
    while True:
        low = max(line, place - width)
        # One more byte lets the expression see whether the next letter is lower-case.
        for match in reversed(list(_END.finditer(block, low, place + 1))):
            if match.end() <= place and _ends(block, match.start(), line):
                return match.end()
        if low == line:
            return line
        width *= 4


def _ends(block: bytes, mark: int, line: int) -> bool:
    """Tell whether the punctuation from `mark` on ends a sentence.

    In the middle of a run such as "..." the answer is the same as at its beginning: yes.
    """
    if block[mark] != _FULL_STOP or block[mark + 1] in b".!?":
        return True
    before = block[max(line, mark - _LONGEST - 2) : mark]
    # Only one space: in "the end  ." the full stop belongs to no word.
    before = before[:-1] if before.endswith(b" ") else before
    word = before.translate(_OPENING).rpartition(b" ")[2]
    if len(word) > _LONGEST:
        return True
    if word in ABBREVIATIONS or (b"." in word and _DOTTED.fullmatch(word)):
        return False
    # A letter has four bytes at most.
    initial = word.decode("utf-8", "ignore") if len(word) <= 4 else ""
    return not (len(initial) == 1 and initial.isupper())
