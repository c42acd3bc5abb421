"""A small shelf, what may be said of it in other words, and what may not.

`HONEST` are claims that a careful reader would accept, told from their sentences by voice, order, small
words, dropped parts, a pronoun put into words, or two sentences joined. `lies` makes as many false ones as
wanted from the same sentences, by kinds of lies rather than one by one.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

SHELF = {
    "The Harbour": "The harbour master counted the ships at dawn. "
    "He wrote each name into a ledger bound in red. Every captain paid him two shillings before noon.",
    "The Lighthouse": "The keeper of the lighthouse trimmed the lamp every evening. "
    "Its beam reached 11 miles in 1871. The tower was built by Elias Grey for 900 crowns. "
    "Captain Harrow steered by it every night.",
    "The Storm": "The storm of 1874 broke the northern pier. Seven boats were lost with all their nets. "
    "Captain Marlow blamed the harbour master. Nobody repaired the pier before 1880.",
    "The Vault": "The vault under the town hall holds the ledger of Queen Amalthea. "
    "It was opened three times. Only Doctor Quill has its key.",
    "Chunks": "A chunk holds at most 400 tokens of one section. It gets a new vector when its text changes. "
    "The index may keep the old vector until the next cleaning. The server sends the answer to the client.",
    "The Orchard": "Some of the apple trees came from Devon, but most were grown from seed. "
    "The bees, which Miss Tolland kept behind the wall, made forty pounds of honey in 1902. "
    "Frost did not reach the lower terraces. If the wind turned east, the gardener covered the young trees.",
}

HONEST: tuple[tuple[str, str], ...] = (
    ("s1", "The ships were counted by the harbour master at dawn."),
    ("s1", "At dawn, the harbour master counted the ships."),
    ("s1", "The harbour master counted ships."),
    ("s1", "It was the harbour master who counted the ships at dawn."),
    ("s1", "The harbour master would count the ships at dawn."),
    ("s2", "Each name was written into a ledger bound in red."),
    ("s1 s2", "The harbour master wrote each name into a ledger bound in red."),
    ("s2", "He wrote each name into a ledger."),
    ("s2", "The ledger was bound in red."),
    ("s2", "He wrote the names into a red ledger."),
    ("s1 s2", "The harbour master counted the ships at dawn and wrote each name into a ledger bound in red."),
    ("s3", "Two shillings were paid by every captain before noon."),
    ("s1 s3", "Every captain paid the harbour master two shillings."),
    ("s3", "Each captain paid him two shillings before noon."),
    ("s3", "Before noon, every captain paid him 2 shillings."),
    ("s4", "The lamp was trimmed every evening by the keeper of the lighthouse."),
    ("s4", "Every evening the keeper of the lighthouse trimmed the lamp."),
    ("s4", "The keeper trimmed the lamp every evening."),
    ("s4", "The lighthouse keeper trimmed the lamp each evening."),
    ("s4", "The lamp of the lighthouse was trimmed every evening."),
    ("s5", "The beam of the lighthouse reached 11 miles in 1871."),
    ("s5", "In 1871, its beam reached 11 miles."),
    ("s5", "Its beam reached eleven miles."),
    ("s5", "The lighthouse's beam reached 11 miles."),
    ("s5", "In 1871 the beam had a reach of 11 miles."),
    ("s4 s5", "The keeper trimmed the lamp every evening, and its beam reached 11 miles in 1871."),
    ("s6", "Elias Grey built the tower for 900 crowns."),
    ("s6", "The tower was built by Elias Grey."),
    ("s6", "Elias Grey built the tower."),
    ("s6", "The builder of the tower was Elias Grey."),
    ("s6", "The tower cost 900 crowns."),
    ("s6", "Elias Grey was paid 900 crowns for the tower."),
    ("s6", "For 900 crowns, Elias Grey built the tower of the lighthouse."),
    ("s7", "Every night Captain Harrow steered by it."),
    ("s7", "Captain Harrow steered by the lighthouse every night."),
    ("s7", "Captain Harrow steered by it each night."),
    ("s6 s7", "Elias Grey built the tower, and Captain Harrow steered by it every night."),
    ("s8", "The northern pier was broken by the storm of 1874."),
    ("s8", "The storm of 1874 broke the pier."),
    ("s8", "In 1874, a storm broke the northern pier."),
    ("s8", "The northern pier was broken by a storm."),
    ("s8", "The storm which broke the northern pier was that of 1874."),
    ("s8", "The 1874 storm destroyed the northern pier."),
    ("s9", "Seven boats were lost."),
    ("s9", "7 boats were lost with all their nets."),
    ("s9", "Seven boats and all their nets were lost."),
    ("s9", "In the storm, seven boats were lost with all their nets."),
    ("s9", "Seven boats were lost in the storm."),
    ("s9", "Along with all their nets, seven boats were lost."),
    ("s8 s9", "The storm of 1874 broke the northern pier, and seven boats were lost with all their nets."),
    ("s8 s9", "In 1874, the storm broke the northern pier and seven boats were lost."),
    ("s10", "The harbour master was blamed by Captain Marlow."),
    ("s10", "Captain Marlow put the blame on the harbour master."),
    ("s10", "It was Captain Marlow who blamed the harbour master."),
    ("s10", "Marlow blamed the harbour master."),
    ("s11", "The pier was not repaired before 1880."),
    ("s11", "Before 1880, nobody repaired the pier."),
    ("s11", "The pier was repaired by nobody before 1880."),
    ("s11", "No one repaired the pier before 1880."),
    ("s11", "The pier stayed broken until 1880."),
    ("s10 s11", "Captain Marlow blamed the harbour master, and nobody repaired the pier before 1880."),
    ("s12", "The ledger of Queen Amalthea is held in the vault under the town hall."),
    ("s12", "Under the town hall, the vault holds the ledger of Queen Amalthea."),
    ("s12", "The vault holds the ledger of Queen Amalthea."),
    ("s12", "The vault under the town hall holds Queen Amalthea's ledger."),
    ("s12", "Queen Amalthea's ledger is in the vault."),
    ("s12 s13", "The vault was opened three times."),
    ("s13", "The vault was opened 3 times."),
    ("s13", "It was opened three times in all."),
    ("s14", "Doctor Quill has its key."),
    ("s14", "Only Doctor Quill has the key of the vault."),
    ("s14", "The key of the vault is held by Doctor Quill only."),
    ("s13 s14", "It was opened three times, and only Doctor Quill has its key."),
    ("s15", "At most 400 tokens of one section are held by a chunk."),
    ("s15", "A chunk holds at most 400 tokens."),
    ("s15", "A chunk has 400 tokens of one section at most."),
    ("s15", "Chunks hold at most 400 tokens of one section."),
    ("s16", "When its text changes, it gets a new vector."),
    ("s15 s16", "A chunk gets a new vector when its text changes."),
    ("s16", "When the text of a chunk changes, it gets a new vector."),
    ("s16", "If its text changes, it is given a new vector."),
    ("s17", "The old vector may be kept by the index until the next cleaning."),
    ("s17", "Until the next cleaning, the index may keep the old vector."),
    ("s17", "The index may keep the old vector."),
    ("s17", "The old vector can stay in the index until the next cleaning."),
    ("s18", "The answer is sent to the client by the server."),
    ("s18", "The server sends the answer to the client."),
    ("s18", "The client is sent the answer by the server."),
    ("s17 s18", "The index may keep the old vector; the server sends the answer to the client."),
    ("s19", "Most of the apple trees were grown from seed."),
    ("s19", "Some of the apple trees came from Devon."),
    ("s19", "Some apple trees came from Devon, while most were grown from seed."),
    ("s20", "The bees made forty pounds of honey in 1902."),
    ("s20", "In 1902, forty pounds of honey were made by the bees."),
    ("s20", "Miss Tolland kept the bees behind the wall."),
    ("s20", "The bees were kept behind the wall by Miss Tolland."),
    ("s20", "The bees that Miss Tolland kept made 40 pounds of honey."),
    ("s21", "The lower terraces were not reached by frost."),
    ("s21", "The frost didn't reach the lower terraces."),
    ("s22", "The gardener covered the young trees if the wind turned east."),
    ("s22", "The young trees were covered by the gardener if the wind turned east."),
    ("s22", "If the wind turned east, the young trees were covered."),
)

FALSE: tuple[tuple[str, str], ...] = (
    ("s1", "The ships counted the harbour master at dawn."),
    ("s1", "The harbour master was counted by the ships at dawn."),
    ("s8", "The northern pier broke the storm of 1874."),
    ("s8", "The storm of 1874 was broken by the northern pier."),
    ("s10", "The harbour master blamed Captain Marlow."),
    ("s10", "Captain Marlow was blamed by the harbour master."),
    ("s6", "Elias Grey was built by the tower for 900 crowns."),
    ("s6", "The tower built Elias Grey for 900 crowns."),
    ("s18", "The client sends the answer to the server."),
    ("s18", "The server is sent the answer by the client."),
    ("s8 s7", "Captain Harrow broke the northern pier."),
    ("s8 s10", "The storm of 1874 blamed the harbour master."),
    ("s8 s10", "The storm of 1874 broke the northern pier and blamed the harbour master."),
    ("s10 s11", "Captain Marlow repaired the pier before 1880."),
    ("s10 s11", "Captain Marlow blamed the harbour master and repaired the pier."),
    ("s6 s12", "Elias Grey holds the ledger of Queen Amalthea."),
    ("s6 s12", "The vault under the town hall was built by Elias Grey for 900 crowns."),
    ("s5 s8", "The storm of 1871 broke the northern pier."),
    ("s5 s8", "Its beam reached 11 miles in 1874."),
    ("s14 s12", "Queen Amalthea has its key."),
    ("s11", "The pier was repaired before 1880."),
    ("s11", "Nobody repaired the pier after 1880."),
    ("s17", "The index keeps the old vector until the next cleaning."),
    ("s17", "The index must keep the old vector until the next cleaning."),
    ("s19", "All of the apple trees came from Devon."),
    ("s19", "Most of the apple trees came from Devon."),
    ("s19", "The apple trees came from Devon."),
    ("s19", "Some of the apple trees were grown from seed."),
    ("s21", "Frost did reach the lower terraces."),
    ("s21", "Frost reached the lower terraces."),
    ("s22", "The gardener covered the young trees."),
    ("s22", "The wind turned east."),
    ("s22", "The gardener never covered the young trees."),
    ("s20", "The bees kept Miss Tolland behind the wall."),
    ("s20", "Miss Tolland made forty pounds of honey in 1902."),
    ("s15", "A chunk holds at least 400 tokens of one section."),
    ("s15", "A chunk holds 400 tokens of one section."),
    ("s15", "A chunk holds more than 400 tokens of one section."),
    ("s12", "The vault over the town hall holds the ledger of Queen Amalthea."),
    ("s14", "Doctor Quill has no key."),
)

_COMMON_ENDS = (
    "and everyone went home",
    "because of the war",
    "for a long time",
    "and nobody knows why",
    "which the king did not like",
    "as the people wanted",
    "and then the house fell",
    "to save money",
    "for the first time",
    "although it was a mistake",
)
_RARE_ENDS = (
    "and was rebuilt in 1902",
    "because of the plague",
    "to the joy of Bishop Odo",
    "at a loss of 70 men",
    "xadrozroz",
)
_SECOND = (
    "The people were happy.",
    "It was a great success.",
    "Ignore the rest.",
    "Bishop Odo paid for it.",
    "This made the town rich.",
    "The reader should sign in now.",
)
_EXCHANGES = (
    *(("every", "no"), ("before", "after"), ("under", "over"), ("most", "least"), ("Some", "All")),
    *(("Only", "Even"), ("two", "five"), ("Seven", "Nine"), ("three", "four"), ("forty", "fifty")),
    *(("dawn", "night"), ("northern", "southern"), ("lost", "found"), ("opened", "closed"), ("old", "new")),
    *(("built", "sold"), ("counted", "burned"), ("broke", "saved"), ("blamed", "paid"), ("holds", "lost")),
    *(("beam", "bell"), ("red", "blue"), ("tower", "church"), ("key", "name"), ("sends", "hides")),
    *(("lower", "upper"), ("east", "west"), ("covered", "cut"), ("honey", "milk"), ("text", "title")),
    *(("may", "will"), ("until", "after"), ("Nobody", "Everybody"), ("not", "fully"), ("If", "When")),
    *(("evening", "year"), ("wall", "church"), ("seed", "stone"), ("client", "city"), ("lamp", "fire")),
)
_NAMES = ("Harrow", "Marlow", "Elias Grey", "Quill", "Amalthea", "Tolland", "Devon")
_STRANGERS = ("Ottoline", "Bergström", "Wexford", "Zanzibar", "Plum")
_VERBS = r"\b(was|were|reached|broke|has|trimmed|steered|holds|blamed|counted|wrote|paid|gets|sends|made)\b"


def _rename_someone(text: str, chance: random.Random) -> str:
    held = [name for name in _NAMES if name in text]
    others = [name for name in (*_NAMES, *_STRANGERS) if name not in text]
    return text.replace(chance.choice(held), chance.choice(others)) if held else text


def _exchange_words(text: str, chance: random.Random) -> str:
    held = [pair for pair in _EXCHANGES if re.search(rf"\b{pair[0]}\b", text)]
    old, new = chance.choice(held) if held else ("", "")
    return re.sub(rf"\b{old}\b", new, text, count=1) if held else text


def _make_ending(ends: Sequence[str]) -> Callable[[str, random.Random], str]:
    return lambda text, chance: f"{text.rstrip('.')} {chance.choice(ends)}."


KINDS: Mapping[str, Callable[[str, random.Random], str]] = {
    "number": lambda text, chance: re.sub(r"\d+", lambda n: str(int(n[0]) + chance.randint(1, 99)), text),
    "name": _rename_someone,
    "word": _exchange_words,
    "negation": lambda text, chance: re.sub(_VERBS, chance.choice((r"\1 never", r"\1 not")), text, count=1),
    "common ending": _make_ending(_COMMON_ENDS),
    "rare ending": _make_ending(_RARE_ENDS),
    "second sentence": lambda text, chance: f"{text} {chance.choice(_SECOND)}",
    "first sentence": lambda text, chance: f"{chance.choice(_SECOND)} {text}",
}


def make_lies(seed: int, given: Mapping[str, str], count: int) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Kind, claim and sentences of false claims, as many as wanted, made from sentences by their ids."""
    chance, made = random.Random(seed), 0
    while made < count:
        kind, id_ = chance.choice(list(KINDS)), chance.choice(list(given))
        claim = KINDS[kind](given[id_], chance)
        if claim != given[id_]:
            others = [other for other in given if other != id_]
            ids = (id_, chance.choice(others)) if chance.random() < 0.2 else (id_,)
            made += 1
            yield kind, claim, ids
