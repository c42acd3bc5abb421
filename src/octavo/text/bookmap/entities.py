"""Join the spellings of one name: with and without a title, in full and in short, in other words.

"Captain Ahab" and "Ahab" have one core. "Coffin" is short for "Peter Coffin" when no other name ends so, and
nothing speaks against it: "Mrs. Hussey" is not "Hosea Hussey". Two names that the book sets side by side
twice, or an abbreviation and its long form, are one. Where it is not certain, names stay apart.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from octavo.text.bookmap.forms import Form, is_title
from octavo.text.bookmap.marks import Cue, SectionMarks
from octavo.text.bookmap.model import EntityKind
from octavo.text.english import list_words, measure_rarity, stem

# How often a book must set two names side by side to make them one.
TWICE = 2
# A word that occurs more often in small letters is an ordinary one.
ORDINARY = 3
ESTABLISHED = 3
PLACES_BEFORE = frozenset(["cape", "mount", "lake", "fort", "port", "mt", "river"])
# The share of a name's mentions in which somebody is called by it.
CALLED = 0.08
_BEFORE_CALL = re.compile(r"(?:[,—] ?|\b(?:dear|oh|O|Oh|Ah|ah|my|poor|friend) )$")
_AFTER_CALL = re.compile(r"[!?]|[.,;]?[’”\"]")
# The share of a book's names that have a verb of speaking or "who" beside them, if it speaks of people.
PEOPLED = 0.08
# The share of a name's mentions that prove what it names, in a book that does not.
PROVEN = 0.4


@dataclass(slots=True)
class Group:
    """Spellings of one name."""

    key: str
    forms: list[Form] = field(default_factory=list)
    gender: str = ""

    @property
    def count(self) -> int:
        return sum(len(form.places) for form in self.forms)

    @property
    def speeches(self) -> int:
        return sum(form.count(Cue.SPEAKS) for form in self.forms)

    @property
    def titles(self) -> set[str]:
        """The first words of its spellings."""
        return {form.text.partition(" ")[0].lower().rstrip(".") for form in self.forms}

    @property
    def sections(self) -> set[int]:
        return {place[0] for form in self.forms for place in form.places}


def group_forms(
    forms: Mapping[str, Form], doubtful: Mapping[str, Form], lower: Mapping[str, int]
) -> dict[str, Group]:
    """Join spellings that differ in title, hyphen or length. `doubtful` are names only as parts of others."""
    by_core: dict[str, list[tuple[Form, str]]] = defaultdict(list)
    for form in forms.values():
        core, gender = split_title(form.text, forms)
        by_core[fold(core)].append((form, gender))
    for key in [
        key for key in by_core if key.endswith("s") and (" " in key or by_core[key][0][0].text[:-1].isupper())
    ]:
        # "Sperm Whales" are the Sperm Whale.
        if key[:-1] in by_core:
            by_core[key[:-1]] += by_core.pop(key)
    groups: dict[str, Group] = {}
    for key, members in by_core.items():
        genders = {gender for _, gender in members if gender}
        for form, gender in members:
            # Of "Mr. Bennet" and "Mrs. Bennet", neither is "Bennet".
            apart = f"{gender} {key}" if gender and len(genders) > 1 else key
            group = groups.setdefault(apart, Group(apart))
            group.forms.append(form)
            group.gender = group.gender or gender
    _split_rare_pairs(groups)
    _join_short_forms(groups, doubtful, lower)
    return groups


def fold(text: str) -> str:
    return " ".join(text.lower().replace("-", " ").replace("‑", " ").replace("’", "'").split())


def split_title(text: str, forms: Mapping[str, Form]) -> tuple[str, str]:
    """Return a name without its titles, and the gender that they tell ("m", "f" or "")."""
    words, gender = text.split(), ""
    while len(words) > 1 and is_title(words[0]) and words[1][0].isupper():
        low = words[0].lower().rstrip(".")
        rest = " ".join(words[1:])
        if low in list_words("traits_in_names") and rest not in forms:
            break
        gender = (
            "m"
            if low in list_words("titles_of_men")
            else "f"
            if low in list_words("titles_of_women")
            else gender
        )
        words = words[1:]
    return " ".join(words), gender


def _split_rare_pairs(groups: dict[str, Group]) -> None:
    """Take a name that occurs once, of two names that occur often, for these two: "Parsee Ahab"."""
    for key in [key for key, group in groups.items() if group.count == 1]:
        form = groups[key].forms[0]
        first, _, rest = form.text.partition(" ")
        one, other = groups.get(fold(first)), groups.get(fold(rest))
        if rest and one and other and min(one.count, other.count) >= ESTABLISHED:
            section, start, end = form.places[0]
            one.forms[0].add(section, start, start + len(first), 0)
            other.forms[0].add(section, end - len(rest), end, 0)
            del groups[key]


def _join_short_forms(
    groups: dict[str, Group], doubtful: Mapping[str, Form], lower: Mapping[str, int]
) -> None:
    """Move each group with a short name into the only group with a longer one, if there is one."""
    longer: dict[str, set[str]] = defaultdict(set)
    for key, group in groups.items():
        words = fold(split_title(group.forms[0].text, {})[0]).split()
        if len(words) > 1 and "of" not in words:
            longer[words[0]].add(key)
            longer[words[-1]].add(key)
    shorts = sorted(groups.values(), key=lambda group: group.count)
    shorts += [Group(fold(text), [form]) for text, form in doubtful.items()]
    for short in shorts:
        found = [key for key in longer.get(short.key, ()) if key in groups and key != short.key]
        if len(found) == 1 and _is_short_for(short, groups[found[0]], groups, lower):
            whole = groups[found[0]]
            whole.forms += short.forms
            whole.gender = whole.gender or short.gender
            if groups.get(short.key) is short:
                del groups[short.key]


_MOTHERS = (("miss", "mrs"), ("mrs", "miss"))


def _is_short_for(short: Group, whole: Group, groups: Mapping[str, Group], lower: Mapping[str, int]) -> bool:
    # "Mrs. Hussey" is not "Hosea Hussey".
    if (short.gender and short.gender != whole.gender) or not short.sections & whole.sections:
        return False
    # "Mrs. Westenra" is the mother of "Miss Lucy Westenra".
    if any({a} <= short.titles and {b} <= whole.titles - short.titles for a, b in _MOTHERS):
        return False
    words = fold(split_title(whole.forms[0].text, {})[0]).split()
    first, last = words[0], words[-1]
    if whole.count == 1 and groups.get(last if short.key == first else first, short).count > short.count:
        return False
    if short.key == first:
        # "Nantucket Sound" is not Nantucket: a name of a person has no ordinary word in it.
        return lower[last] <= ORDINARY and last not in list_words("place_nouns")
    ordinary = lower[first] > ORDINARY or first in list_words("prepositions", "traits")
    return not ordinary or whole.count >= short.count


def join_other_names(
    groups: dict[str, Group], texts: Sequence[str], marks: Sequence[SectionMarks]
) -> list[tuple[str, str]]:
    """Join the groups that the book says are one; return the pairs whose names are not both capitalised."""
    owner = {form.text: key for key, group in groups.items() for form in group.forms}
    said: Counter[tuple[str, str]] = Counter()
    loose: list[tuple[str, str]] = []
    for text, found in zip(texts, marks, strict=True):
        for start, end, other_start, other_end in found.other_names:
            one, other = text[start:end], text[other_start:other_end]
            short = _is_abbreviation(one, other)
            if one in owner and other in owner:
                said[one, other] += TWICE if short else 1
            elif short:
                loose.append((one, other))
    for (one, other), count in said.most_common():
        first, second = owner[one], owner[other]
        if first != second and count >= TWICE and _may_be_one(groups[first], groups[second]):
            groups[first].forms += groups[second].forms
            for form in groups.pop(second).forms:
                owner[form.text] = first
    return loose


def _is_abbreviation(long: str, short: str) -> bool:
    return len(short) < len(long) and short[-2:].rstrip("s").isupper() and " " not in short


def _may_be_one(one: Group, other: Group) -> bool:
    """Tell whether nothing speaks against it: two who both speak are two."""
    return not (one.speeches > 1 and other.speeches > 1)


@dataclass(frozen=True, slots=True)
class KindJudge:
    """Tells what names name, by their words, by what stands around them, and by the book that they are in.

    `peopled` says that the book speaks of people. Where nobody speaks, comes or goes, "in" stands before
    files and chapters, and "whose" after packages: there such words prove little. `lower` counts the words
    that the book writes in small letters, and `texts` are its sections.
    """

    peopled: bool
    lower: Mapping[str, int]
    texts: Sequence[str]

    def find_kind(self, forms: Sequence[Form], gender: str) -> EntityKind:
        """Tell what a name names."""
        count = titled = 0
        heads: set[str] = set()
        for form in forms:
            count += len(form.places)
            words = [word.lower().rstrip(".") for word in form.text.split()]
            titled += len(form.places) if len(words) > 1 and _is_proper_title(*words[:2]) else 0
            # The head of "Island of Devils" is its first word, that of "Sag Harbor" its last.
            heads.add(words[words.index("of") - 1] if "of" in words[1:] else words[-1])
            heads.add(words[0] if words[0] in PLACES_BEFORE else "")
        kinds = (Cue.SPEAKS, Cue.THE, Cue.PLACE, Cue.PERSON, Cue.NAMED)
        speaks, the, place, pronoun, named = (sum(form.count(cue) for form in forms) / count for cue in kinds)
        person = 3 * speaks + pronoun + 2 * named
        people = list_words("titles_of_men", "titles_of_women", "men", "women")
        if the > 0.5 and not speaks and not gender and all(form.text.istitle() for form in forms):
            # An inn may be called the "Admiral Benbow", but the Count de Ville is a person.
            titled = 0
        if (gender and titled > 0.1 * count) or titled > 0.5 * count or heads & people:
            return EntityKind.PERSON
        if heads & list_words("place_nouns", "well_known_places") and speaks < 0.1:
            return EntityKind.PLACE
        if not self.peopled:
            return self._find_proven_kind(forms, count)
        if the < 0.3 and (_has_first_name(forms) or self._is_called(forms, count, place)):
            return EntityKind.PERSON
        if place > 0.3 and the < 0.3 and speaks < 0.05 and not titled:
            return EntityKind.PLACE
        if speaks > 0.08 or titled > 0.1 * count or (person > 0.25 and person > 2 * place and the < 0.5):
            return EntityKind.PERSON
        if place > 0.2 and the < 0.3 and not all(form.text.isupper() for form in forms):
            return EntityKind.PLACE
        return EntityKind.PERSON if person > 0.5 and the < 0.3 else EntityKind.THING

    def _is_called(self, forms: Sequence[Form], count: int, place: float) -> bool:
        """Tell whether somebody is spoken to by a name, more often than it follows "in": “Stay, Pip!”"""
        places = (place for form in forms for place in form.places)
        called = sum(
            _BEFORE_CALL.search(self.texts[section], max(0, start - 12), start) is not None
            and _AFTER_CALL.match(self.texts[section], end) is not None
            for section, start, end in places
        )
        return called >= TWICE and called > max(CALLED, place) * count

    def _find_proven_kind(self, forms: Sequence[Form], count: int) -> EntityKind:
        """Tell what a name names in a book that does not speak of people.

        It takes two mentions, a good part of all, and a word that is nothing but a name. An ordinary word
        that has a capital here and there is a term.
        """
        words = [word for form in forms for word in form.text.split()]
        # Names stand in small letters too, in paths and addresses. It counts whether English has the word.
        ordinary = [measure_rarity(stem(word.lower())) < 1.0 for word in words]
        if all(ordinary):
            return EntityKind.TERM
        if any(ordinary) or not all(
            word.isalpha() and word.istitle() and not self.lower[word.lower()] for word in words
        ):
            return EntityKind.THING
        person, place = (
            sum(form.count(cue) for form in forms) for cue in (Cue.SPEAKS | Cue.PERSON | Cue.NAMED, Cue.PLACE)
        )
        most = max(person, place)
        if most < TWICE or most < PROVEN * count:
            return EntityKind.THING
        return EntityKind.PERSON if person > place else EntityKind.PLACE


def _is_proper_title(first: str, second: str) -> bool:
    """Tell whether a name begins with a title of people: "little" stands before names of places too."""
    return is_title(first) and first not in list_words("traits_in_names") and second != "of"


def _has_first_name(forms: Sequence[Form]) -> bool:
    """Tell whether a name is, or begins with, a first name: "Billy Bones"."""
    names = (form.text.lower().split() for form in forms)
    return any(words[0] in list_words("first_names") and words[1:2] != ["of"] for words in names)


def speaks_of_people(groups: Iterable[Group]) -> bool:
    """Tell whether a book speaks of people: beside its names stand verbs of speaking, "who", "he" or "she".

    Of all names, a third have one in novels, and fewer than one in twenty in manuals.
    """
    forms = [form for group in groups for form in group.forms]
    mentions = sum(len(form.places) for form in forms)
    return sum(form.count(Cue.SPEAKS | Cue.PERSON) for form in forms) >= PEOPLED * mentions
