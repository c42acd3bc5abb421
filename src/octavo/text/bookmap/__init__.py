"""The map of a book: its people, places, things and terms, and what each chapter says, without any model.

`scan.mark_section` marks what the text of one section shows by itself: sentences, capitalised runs, code
words, definitions, other names and a gist. The marks are offsets, and are stored under the hash of the text.
`link.link_map` joins the marks of the sections that a reader has read into one map. A map of the first
chapters is made from the first chapters alone, so it cannot know what comes later.
"""
