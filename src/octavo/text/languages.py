"""Which language a book is written in, and what counts as a word in it.

`identify_language` looks at samples from the whole book and names its language by the ISO code. It returns ""
for English, and for what it cannot tell: such books are treated as they always were. `prepare_words` writes
a text so that every engine finds its words the same way: digits of all scripts as 0 to 9, vowel marks that
readers leave out left out, and in scripts without spaces every two neighbouring characters as one word.

`collect_words` and `weigh_words` are the same words with common endings taken off, for measuring how much of
a question a passage has. The commonest words of each language are in word_lists.json.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from types import MappingProxyType

SAMPLES, SAMPLE = 12, 1_500
"""How many samples of a book are looked at, and how many characters each has."""
LEAST_SHARE = 0.08
"""The share of a text's words that must be among the commonest of a language written in Latin letters."""
ENGLISH_LEAD = 1.25
"""How many times more common words than English ones another language must have."""
OTHER_SCRIPT, DENSE = 0.4, 3
"""The share of a text that must be in another script, where a character that stands for a syllable or a word
counts as three letters. English names and commands stand in technical books of every language."""
LEAST_SECTION, LEAST_COMMON, SURE_SHARE, SURE_LEAD, SURE_SCRIPT = 300, 6, 0.16, 2.5, 0.6
"""When a section is in another language than its book: how many letters it has at least, how many different
words of it and which share of all are among the commonest of that language, how many times more these are
than the book's own, or the share of its letters that are in another script."""
WORDS_VERSION = "1"
# Scripts that are written without spaces, and the code of the language where the script alone tells.
_SPACELESS = re.compile(
    r"[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003134f\u3040-\u30ff\u31f0-\u31ff\uac00-\ud7a3"
    r"\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff]+"
)
_BY_SCRIPT: Mapping[str, str] = {
    "CJK": "zh",
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
    "HANGUL": "ko",
    "CYRILLIC": "ru",
    "ARABIC": "ar",
    "HEBREW": "he",
    "GREEK": "el",
    "THAI": "th",
    "LAO": "lo",
    "KHMER": "km",
    "MYANMAR": "my",
    "DEVANAGARI": "hi",
    "BENGALI": "bn",
    "TAMIL": "ta",
    "TELUGU": "te",
    "GUJARATI": "gu",
    "GURMUKHI": "pa",
    "KANNADA": "kn",
    "MALAYALAM": "ml",
    "SINHALA": "si",
    "ARMENIAN": "hy",
    "GEORGIAN": "ka",
    "ETHIOPIC": "am",
}
_DENSE_SCRIPTS = frozenset(("CJK", "HIRAGANA", "KATAKANA", "HANGUL"))
# Languages of one script, by letters that only they have. The first that is common enough is taken.
_BY_LETTERS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "ar": (("ur", "ٹڈڑےںہھ"), ("fa", "پچژگ")),
    "ru": (("uk", "іїєґ"), ("be", "ўі"), ("sr", "јљњћђџ"), ("mk", "ѓќѕ")),
}
_LETTERS_SHARE = 0.01
RIGHT_TO_LEFT = frozenset(("ar", "he", "fa", "ur", "ps", "sd", "ug", "yi", "dv", "ckb"))
_ARABIC = str.maketrans(
    {"ي": "ی", "ك": "ک", "ى": "ی", "أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ة": "ه", "ـ": ""}
)
MYRIAD = 10_000
_NUMERALS = dict(zip("〇零一二三四五六七八九两兩", (0, 0, *range(1, 10), 2, 2), strict=True))
_POWERS = dict(zip("十百千万萬亿億", (10, 100, 1_000, MYRIAD, MYRIAD, 10**8, 10**8), strict=True))
_NUMERAL = re.compile(f"[{''.join((*_NUMERALS, *_POWERS))}]+")
_WORD = re.compile(r"\w+")
# Digits and vowel marks of scripts that are not Latin; a Latin text is left as it is.
_MARKED = re.compile(r"[^\x00-\u024f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
# The shortest word that endings are taken off, and how much of it stays.
_ENDED, _STEM = 6, 5


LANGUAGE_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "ar": "Arabic",
        "bg": "Bulgarian",
        "ca": "Catalan",
        "cs": "Czech",
        "cy": "Welsh",
        "da": "Danish",
        "de": "German",
        "el": "Greek",
        "en": "English",
        "eo": "Esperanto",
        "es": "Spanish",
        "et": "Estonian",
        "fa": "Persian",
        "fi": "Finnish",
        "fr": "French",
        "ga": "Irish",
        "he": "Hebrew",
        "hi": "Hindi",
        "hr": "Croatian",
        "hu": "Hungarian",
        "id": "Indonesian",
        "is": "Icelandic",
        "it": "Italian",
        "ja": "Japanese",
        "ko": "Korean",
        "la": "Latin",
        "lt": "Lithuanian",
        "lv": "Latvian",
        "nb": "Norwegian",
        "nl": "Dutch",
        "no": "Norwegian",
        "pl": "Polish",
        "pt": "Portuguese",
        "ro": "Romanian",
        "ru": "Russian",
        "sk": "Slovak",
        "sl": "Slovenian",
        "sr": "Serbian",
        "sv": "Swedish",
        "tr": "Turkish",
        "uk": "Ukrainian",
        "ur": "Urdu",
        "vi": "Vietnamese",
        "zh": "Chinese",
    }
)
"""What languages are called in English."""


def identify_language(texts: Sequence[str], *, declared: str = "") -> str:
    """Return the code of the language that most of these texts are in; "" for English or when unsure.

    What the file declares decides only between languages that the letters do not tell apart.
    """
    sample = " ".join(_take_samples(texts))
    scripts = _count_scripts(sample)
    letters = scripts.total()
    if letters - scripts["LATIN"] > OTHER_SCRIPT * letters:
        return _identify_by_script(sample, scripts, declared)
    return _identify_latin(sample, declared) if letters else ""


def identify_languages(texts: Sequence[str], *, declared: str = "") -> tuple[str, ...]:
    """Return the language of a book with these sections, and then the other languages of some of them."""
    book = identify_language(texts, declared=declared)
    others = {_identify_clearly(text, book) for text in texts} - {book}
    return (book, *sorted(others))


def identify_sections(texts: Sequence[str], *, languages: Sequence[str]) -> list[str]:
    """Return the language of each section, one of those that `identify_languages` has found."""
    book, *others = languages
    found = (_identify_clearly(text, book) if others else book for text in texts)
    return [language if language in others else book for language in found]


def _identify_clearly(text: str, book: str) -> str:
    """Return the language of a section: that of its book, unless it is long and clearly in another.

    Names, commands, quotations and lists of words in other languages stand in books of every language.
    """
    (sample,) = _take_samples([text])
    words = _count_words(sample)
    own = _measure_share(words, book)
    # Nearly every section ends here, so nothing else is counted before.
    if own >= SURE_SHARE:
        return book
    scripts = _count_scripts(sample)
    if scripts.total() < LEAST_SECTION:
        return book
    found = identify_language([sample], declared=book)
    if (found or "en") in _load_common():
        share = _measure_share(words, found)
        # One letter in a listing of code is a word of some language.
        common = {word for word in _load_common()[found or "en"] if len(word) > 1 and words[word]}
        clear = share >= max(SURE_SHARE, SURE_LEAD * own) and len(common) >= LEAST_COMMON
        return found if clear else book
    latin = scripts["LATIN"] / scripts.total()
    same = _get_script_code(found) == _get_script_code(book)
    return book if same or latin > 1 - SURE_SCRIPT else found


def _take_samples(texts: Sequence[str]) -> Iterable[str]:
    """Take stretches from the whole book: a preface or an appendix may be in another language."""
    long = [text for text in texts if len(text) > 200] or list(texts)
    step = max(1, len(long) // SAMPLES)
    for text in long[::step][: 2 * SAMPLES]:
        begin = max(0, len(text) // 2 - SAMPLE // 2)
        yield text[begin : begin + SAMPLE]


def _count_scripts(sample: str) -> Counter[str]:
    """Count the letters of each script. Those that stand for a syllable or a word count more."""
    scripts = Counter(_name_script(c) for c in sample if c.isalpha())
    for script in _DENSE_SCRIPTS & scripts.keys():
        scripts[script] *= DENSE
    return scripts


def _identify_by_script(sample: str, scripts: Counter[str], declared: str) -> str:
    others = Counter({name: count for name, count in scripts.items() if name != "LATIN"})
    letters = sum(others.values())
    if others["HIRAGANA"] + others["KATAKANA"] > letters // 10:
        return "ja"
    code = _BY_SCRIPT.get(others.most_common(1)[0][0], "")
    base = get_base_code(declared)
    if base and base != "en" and _get_script_code(base) == code:
        return base
    for other, own in _BY_LETTERS.get(code, ()):
        if sum(map(sample.count, own)) > _LETTERS_SHARE * letters:
            return other
    return code


def _get_script_code(code: str) -> str:
    """Return the commonest language of the script that a language is written in."""
    groups = {"ru": ("uk", "be", "bg", "sr", "mk", "kk", "mn"), "ar": ("fa", "ur", "ps", "sd", "ug", "ckb")}
    groups |= {"he": ("yi",), "hi": ("mr", "ne", "sa"), "bn": ("as",)}
    return next((main for main, members in groups.items() if code in members), code)


def _identify_latin(sample: str, declared: str) -> str:
    words = _count_words(sample)
    found = {code: _measure_share(words, code) for code in _load_common()}
    best = max(found, key=lambda code: (found[code], code))
    declared = get_base_code(declared)
    # Close relatives (Danish and Norwegian, say) share most of their common words.
    if declared in found and found[declared] > 0.8 * found[best]:
        best = declared
    if best == "en" or found[best] < LEAST_SHARE or found[best] < ENGLISH_LEAD * found["en"]:
        return ""
    return best


def _count_words(sample: str) -> Counter[str]:
    return Counter(word for word in _WORD.findall(sample.casefold()) if word[0].isalpha())


def _measure_share(words: Counter[str], language: str) -> float:
    """Return the share of the words that are among the commonest of a language in Latin letters."""
    listed = _load_common().get(language or "en", ())
    return sum(words[word] for word in listed) / max(1, words.total())


@cache
def _load_common() -> Mapping[str, frozenset[str]]:
    stored = files("octavo.text").joinpath("word_lists.json").read_text(encoding="utf-8")
    return {code: frozenset(words.split()) for code, words in json.loads(stored).items()}


@lru_cache(maxsize=4_096)
def _name_script(letter: str) -> str:
    return unicodedata.name(letter, "?").split()[0].split("-")[0]


def get_base_code(declared: str) -> str:
    """Return the language of a tag: "pt" of "pt-BR"."""
    return re.split(r"[-_]", declared.strip().lower(), maxsplit=1)[0]


def get_direction(language: str) -> str:
    """Return "rtl" for a language that is written from right to left, else "ltr"."""
    return "rtl" if get_base_code(language) in RIGHT_TO_LEFT else "ltr"


def is_unspaced(text: str) -> bool:
    """Say whether a text has characters of a script that is written without spaces."""
    return not text.isascii() and _SPACELESS.search(text) is not None


def write_digits(text: str) -> str:
    """Write the digits of all scripts as 0 to 9."""
    if text.isascii():
        return text
    return "".join(str(unicodedata.decimal(c, c)) if c.isdecimal() else c for c in text)


def find_numbers(text: str) -> set[str]:
    """Find the numbers that are written in digits, of whatever script."""
    return set(re.findall(r"[0-9]+", write_digits(text)))


def find_numerals(text: str, *, least: int = 1) -> set[str]:
    """Find the numbers that at least so many Chinese characters write: 一五四七 as 1547, 三百二十 as 320.

    A single one need not be meant as such: 一 is also "a".
    """
    return {_read_numeral(found) for found in _NUMERAL.findall(text) if len(found) >= least}


def _read_numeral(numeral: str) -> str:
    if not any(c in _POWERS for c in numeral):
        return "".join(str(_NUMERALS[c]) for c in numeral).lstrip("0") or "0"
    total = part = digit = 0
    for c in numeral:
        power = _POWERS.get(c, 0)
        if not power:
            digit = _NUMERALS[c]
        elif power < MYRIAD:
            part, digit = part + (digit or 1) * power, 0
        else:
            total, part, digit = total + (part + digit or 1) * power, 0, 0
    return str(total + part + digit)


def is_spaceless(language: str) -> bool:
    return language in ("zh", "ja", "ko", "th", "lo", "km", "my")


def count_words(text: str, language: str) -> int:
    """Count the words of a text. Where nothing stands between them, a word has about two characters."""
    if not is_spaceless(language) or language == "ko":
        return len(text.split())
    others = _WORD.findall(_SPACELESS.sub(" ", text))
    return len(others) + sum(len(run) for run in _SPACELESS.findall(text)) // 2


def prepare_words(text: str, language: str) -> str:
    """Write a text in a language other than English so that its words are those between spaces."""
    if _MARKED.search(text):
        text = _drop_marks(unicodedata.normalize("NFKC", text))
    else:
        text = unicodedata.normalize("NFKC", text)
    if language in ("ar", "fa", "ur"):
        text = text.translate(_ARABIC)
    if language == "ru":
        text = text.replace("ё", "е").replace("Ё", "Е")
    return _SPACELESS.sub(_pair_characters, text)


def _drop_marks(text: str) -> str:
    """Write digits as 0 to 9, and leave out marks that change no letter: vowel points, tone marks, virama."""
    return "".join(
        c
        for c in write_digits(text)
        if not (unicodedata.combining(c) and c > "\u036f" and not "\u3040" <= c <= "\u30ff")
    )


def _pair_characters(found: re.Match[str]) -> str:
    run = found[0]
    if len(run) == 1:
        return f" {run} "
    return f" {' '.join(run[k : k + 2] for k in range(len(run) - 1))} "


def collect_words(text: str, language: str) -> set[str]:
    """Return the words of a text, without the endings that one word may have."""
    return {_cut_ending(word) for word in _WORD.findall(_fold(prepare_words(text, language)))}


def weigh_words(query: str, language: str) -> dict[str, float]:
    """Weigh the words of a question. The commonest of its language count only if there are no others."""
    common = _load_common().get(language, frozenset())
    words = _WORD.findall(_fold(prepare_words(query, language)))
    content = [word for word in words if word not in common] or words
    return {_cut_ending(word): min(1.0, 0.25 + 0.15 * len(word)) for word in content}


def _fold(text: str) -> str:
    """Write in lower case and without the accents of Latin letters."""
    plain = unicodedata.normalize("NFD", text.casefold())
    return unicodedata.normalize("NFC", "".join(c for c in plain if not "\u0300" <= c <= "\u036f"))


def _cut_ending(word: str) -> str:
    return word[: max(_STEM, len(word) * 2 // 3)] if len(word) >= _ENDED and not word[0].isdigit() else word
