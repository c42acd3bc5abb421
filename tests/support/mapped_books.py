"""Books for the tests of the map, with what a reader would name in them: a story and a manual of our own.

The lists were made by reading. Each entry is a name and the other names that must lead to the same entity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from octavo.ingest.edition import build_sections
from octavo.limits import Limits
from octavo.readers import read_book
from octavo.text.blocks import list_section_blocks
from octavo.text.bookmap.describe import MapDescriber
from octavo.text.bookmap.link import link_map
from octavo.text.bookmap.scan import mark_section
from octavo.types import Section
from tests.support import small_books

STORY: Mapping[str, str] = {
    "The Letter": (
        "On the last day of winter a letter came to the house of Edda Marlow. She was a maker of "
        "clocks, and the best one in Harrowgate. The letter had no stamp. It said that her uncle, "
        "Tobias Marlow, had died at sea, and that he had left her a ship called the Grey Heron.\n\n"
        "Edda read it twice. Then she put on her coat and went to see Mr. Pell. Mr. Pell was the lawyer "
        "of Harrowgate, a thin man with ink on both cuffs. “Your uncle owed money,” said Mr. Pell. “He "
        "owed it to Captain Brandt, and Captain Brandt does not forget.”\n\n"
        "“Who is Captain Brandt?” asked Edda. The lawyer looked at the door before he answered. He told "
        "her that Brandt had once sailed with Tobias, and that the two had come home from Farrow Island "
        "as enemies. Nobody in Harrowgate knew why. Edda thanked Mr. Pell and walked down to the "
        "harbour in the rain."
    ),
    "The Grey Heron": (
        "The Grey Heron lay at the end of the quay. She was a small ship with two masts, and her paint "
        "had come off in scales. A boy sat on the rail and ate an apple. His name was Finn, and he had "
        "slept aboard the Grey Heron since the autumn.\n\n"
        "“You are the niece,” said Finn. “Old Tobias told me you would come.” Edda asked him what else "
        "Tobias had told him. Finn threw the core of the apple into the water. He said that Tobias had "
        "kept a box in the cabin, and that nobody was to open it but Edda Marlow.\n\n"
        "They went below. The box was made of black wood, and it had no key. On its lid somebody had "
        "cut the word Farrow. When Edda shook it, something inside ticked. She had heard ten thousand "
        "clocks in her life, and she knew at once that this was one that Tobias had built himself."
    ),
    "Captain Brandt": (
        "In the evening Captain Brandt came to the quay with two men. Brandt was a tall man with a "
        "white beard, and he spoke softly. “I want the ship or the money,” said Brandt. “By Monday I "
        "shall have one of them.” Finn hid behind the mast, for he was afraid of Brandt.\n\n"
        "Edda told the captain that she would not sell. She asked him what had happened on Farrow "
        "Island. For a while Captain Brandt said nothing. Then he laughed. “Ask the Lamplighter,” he "
        "said, and he went away with his men.\n\n"
        "“The Lamplighter is a woman in Saltmere,” Finn told her when they were alone. “She keeps the "
        "light on the point. People say that the Lamplighter knows every ship that ever came home.” "
        "Edda looked at the black box. It was still ticking. They would sail to Saltmere with the "
        "morning tide."
    ),
    "Saltmere": (
        "Saltmere is a village of forty houses under a cliff. The Grey Heron reached it at noon, with "
        "Edda at the helm and Finn in the bow. An old dog barked at them from the pier. Nobody else "
        "came to look.\n\n"
        "The light of Saltmere stood on the point, and beside it a hut. A woman in a red shawl opened "
        "the door. Her name was Ysolde Crane, and the village called her the Lamplighter. “You have his "
        "hands,” said Ysolde. “Tobias Marlow had hands like yours.”\n\n"
        "Ysolde Crane gave them soup. She told them that Tobias and Brandt had found a bell on Farrow "
        "Island, a bell of green bronze that the fishermen call the Drowned Bell. Brandt wanted to sell "
        "it. Tobias sank it again, and he alone knew where. “That is why they hated each other,” said "
        "Ysolde."
    ),
    "The Box": (
        "That night Edda took the black box apart. Ysolde held the lamp, and Finn counted the screws. "
        "Inside was a clock with one hand, and instead of numbers it had the names of winds. Edda "
        "understood it slowly. It was a tide clock. A tide clock is a clock that shows the height of "
        "the water and not the hour.\n\n"
        "“He has marked one tide,” said Edda. “It is the lowest of the year, and it comes in nine "
        "days.” Ysolde nodded. At the lowest tide, she said, one could walk from Farrow Island to a "
        "rock that is called the Tooth. Nobody had ever found anything there, but nobody had known the "
        "day.\n\n"
        "Finn wanted to sail at once. Edda closed the box. She thought of Mr. Pell, and of the money "
        "that Tobias had owed. If the Drowned Bell was on the Tooth, it would pay for everything. But "
        "Tobias had sunk it for a reason."
    ),
    "Farrow Island": (
        "Farrow Island is a low island without trees. The Grey Heron anchored in the lee of it on the "
        "eighth day. There were seals on the stones, and a broken hut where Tobias and Brandt had lived "
        "for one winter. On its wall somebody had written the names of eleven men.\n\n"
        "Edda read them aloud. The last name was Aldous Crane. “My brother,” said Ysolde, and she sat "
        "down. She had never known where he had died. The men had tried to raise the bell in a storm "
        "because Brandt ordered it, and the boat had turned over. Only Tobias Marlow and Captain Brandt "
        "came back.\n\n"
        "“So he sank it for them,” said Finn. Edda said that he had sunk it on their grave. They stayed "
        "in the hut until it was dark. Out at sea a lantern moved, and Finn saw it first. It was the "
        "ship of Captain Brandt, the Cormorant."
    ),
    "The Tooth": (
        "On the ninth day the sea went away. Edda, Finn and Ysolde walked over the wet sand to the "
        "Tooth. Between two stones lay the Drowned Bell, green and very large. Captain Brandt was "
        "already there. He had left the Cormorant in the deep water and come in a small boat.\n\n"
        "“Help me lift it,” said Brandt. Nobody moved. Ysolde told him the eleven names, one after the "
        "other, and at the name of Aldous Crane his voice failed. He said that he had heard the bell "
        "every night for twenty years. He had thought that if he sold it, he would sleep.\n\n"
        "The tide clock ticked in Edda’s hand. “It is turning,” she said. They went back over the sand, "
        "all four of them, and Brandt came last. Behind them the water closed over the Drowned Bell."
    ),
    "The Clock of Harrowgate": (
        "In spring Edda Marlow built a clock for the tower of Harrowgate. Captain Brandt paid for it "
        "with the Cormorant, which he sold, and he tore up the paper that Tobias had signed. Mr. Pell "
        "wrote all of it down and got ink on his collar.\n\n"
        "The clock has one hand. It shows the tide, and once a year it strikes eleven times. Ysolde "
        "Crane comes from Saltmere on that day and brings soup. Finn became the captain of the Grey "
        "Heron when he was old enough.\n\n"
        "Visitors ask why the clock strikes eleven. Edda tells them the names. She tells them about "
        "Tobias Marlow, who kept a secret well, and about Farrow Island. She does not tell them where "
        "the Tooth is."
    ),
}
STORY_ENTITIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Edda Marlow", ("Edda",)),
    ("Tobias Marlow", ("Tobias", "Old Tobias")),
    ("Mr. Pell", ("Pell",)),
    ("Captain Brandt", ("Brandt",)),
    ("Finn", ()),
    ("Ysolde Crane", ("Ysolde",)),
    ("Aldous Crane", ("Aldous",)),
    ("Lamplighter", ("the Lamplighter",)),
    ("Harrowgate", ()),
    ("Saltmere", ()),
    ("Farrow Island", ()),
    ("Grey Heron", ("the Grey Heron",)),
    ("Cormorant", ()),
    ("Drowned Bell", ()),
    ("Tooth", ()),
    ("tide clock", ("tide clocks",)),
)
STORY_FIRST: Mapping[str, str] = {
    "Edda Marlow": "The Letter",
    "Tobias Marlow": "The Letter",
    "Finn": "The Grey Heron",
    "Lamplighter": "Captain Brandt",
    "Ysolde Crane": "Saltmere",
    "Drowned Bell": "Saltmere",
    "tide clock": "The Box",
    "Tooth": "The Box",
    "Aldous Crane": "Farrow Island",
    "Cormorant": "Farrow Island",
}
"""The chapter in which each of these is first named."""

VOYAGE = (
    "In the spring the ship Petrel lay at the quay, and old Captain Rudd walked up and down on her. "
    "He said that the Petrel would sail with the tide. “Rudd is a hard man,” said Tom Hale, the mate. "
    "The cook of the Petrel, who had known Rudd for years, only laughed.\n\n"
    "At noon Rudd brought the Petrel round the point, and the ship heeled over. “Give her room,” said Rudd, "
    "and the Petrel answered like a horse. Tom Hale held the wheel of the Petrel while Rudd slept.\n\n"
    "They met the ship Gannet in the strait, and the ship Tern behind her. The captain of the Gannet, "
    "Jonas Wick, came aboard and asked Rudd for news. The Gannet and the Tern had been out for years. "
    "The Tern, a ship of two masts, leaked.\n\n"
    "“My sister keeps an inn,” said Tom Hale that night. Rudd asked where. Tom Hale’s sister, Ada, had "
    "written to him from the Petrel’s last harbour. Ada was tired of the inn, said Tom Hale, and Rudd "
    "nodded. Then Rudd called Jonas Wick, and Jonas Wick called the men.\n\n"
    "Rudd and the Petrel came home in autumn. Rudd sold the Petrel, and Tom Hale went to his sister."
)
"""A voyage with three ships: the one that matters is called a ship less often than the others."""

MANUAL: Mapping[str, str] = {
    "Kilns": (
        "A kiln is an oven that turns clay into stone. Every kiln of the workshop has a number, and the "
        "log of a kiln is kept in kiln.toml. The Firing Control Unit (FCU) reads this file when the "
        "kiln starts. Do not edit kiln.toml while the FCU is running.\n\n"
        "Before you fire a kiln, run check_kiln and read what it prints. The command check_kiln "
        "measures every heating element. A heating element that is broken must be replaced before the "
        "next firing. The FCU refuses to start with fewer than six heating elements."
    ),
    "Firing schedules": (
        "A firing schedule is a list of temperatures and times. The schedules are in kiln.toml, and "
        "each firing schedule has a name. The first step of every firing schedule dries the ware. The "
        "FCU follows the firing schedule until the last step, and then it lets the kiln cool.\n\n"
        "The slow part of a firing is called candling. Candling drives the water out of the clay. "
        "Without candling the ware cracks. Most schedules need two hours of candling."
    ),
    "Glazes": (
        "A glaze is a thin coat of glass. Glazes are mixed by weight, and the recipes are kept by the "
        "glaze room. Ask Hanna Weil before you change a recipe. Hanna Weil is the head of the glaze "
        "room, and she signs every new glaze.\n\n"
        "A glaze that runs will glue the ware to the shelf. Put every new glaze on a test tile first. A "
        "test tile costs nothing; a shelf costs a day. Keep each test tile with its firing schedule "
        "written on the back."
    ),
    "Glossary": (
        "- bisque: Ware that has been fired once and has no glaze yet.\n"
        "- cone: A small pyramid that bends when the kiln has reached its temperature.\n"
        "- grog: Ground fired clay, which makes the ware crack less.\n"
        "- leather-hard: Dry enough to be carved and wet enough to be joined."
    ),
}
MANUAL_ENTITIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("kiln", ("kilns",)),
    ("kiln.toml", ()),
    ("FCU", ("Firing Control Unit",)),
    ("check_kiln", ()),
    ("heating element", ("heating elements",)),
    ("firing schedule", ("firing schedules",)),
    ("candling", ()),
    ("glaze", ("glazes",)),
    ("Hanna Weil", ("Hanna",)),
    ("test tile", ()),
    ("bisque", ()),
    ("cone", ()),
    ("grog", ()),
)
# Of the bundled documentation: terms that a reader of it would look up.
DOCS_ENTITIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Octavo", ()),
    ("Qdrant", ()),
    ("PostgreSQL", ()),
    ("chunk", ("chunks",)),
    ("edition", ("editions",)),
    ("scope", ("scopes",)),
    ("embedder", ()),
    ("citation", ("citations",)),
    ("refusal", ("refusals",)),
    ("widget", ()),
    ("octavo doctor", ()),
    ("session", ("sessions",)),
)


def write_story(path: Path, chapters: Mapping[str, str] = STORY) -> Path:
    return small_books.write_markdown(path, chapters, title="The Tide Clock")


def write_manual(path: Path) -> Path:
    return small_books.write_markdown(path, MANUAL, title="The Pottery")


def parse_sections(path: Path) -> tuple[Section, ...]:
    """Read a book as Octavo does, without a library."""
    return build_sections(read_book(path, Limits()), book_id="book", base_url=None)


def make_map(sections: Sequence[Section]) -> MapDescriber:
    marks = [mark_section(s.text, s.blocks, list_section_blocks(s)) for s in sections]
    return MapDescriber(link_map(sections, marks))


def make_section(text: str, *, title: str = "One", position: int = 0) -> Section:
    return Section(
        id=f"s{position}",
        book_id="book",
        title=title,
        heading_path=(title,),
        level=1,
        position=position,
        url=f"book://book/s{position}",
        text=text,
        source_file="book.md",
    )
