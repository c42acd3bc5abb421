"""What a question asks for, told from its form: a part, an identity, a comparison, several things."""

from __future__ import annotations

import pytest

from octavo.answers.requests import (
    ComparisonRequest,
    IdentityRequest,
    PartRequest,
    Request,
    SeveralRequest,
    TableRequest,
    read_reply_language,
    read_request,
)


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("what is chapter 9 about", "chapter 9"),
        ("What's the third part about?", "the third part"),
        ("Summarise the section on cron", "the section on cron"),
        ("could you please summarize chapter two?", "chapter two"),
        ("What happens at the end of the book?", "the end of the book"),
        ("how does the story end", "the end of the story"),
        ("How does it end?", "the end of the book"),
        ("How does chapter 3 begin?", "the beginning of chapter 3"),
        ("Give me a short overview of the handbook", "the handbook"),
        ("what does appendix A cover?", "appendix A"),
        ("what is the winch page about", "the winch page"),
        ("summarise the page on winches", "the page on winches"),
        ("main points of chapter 3", "chapter 3"),
        ("What did I miss so far?", "the book"),
        ("What is it about?", "the book"),
    ],
)
def test_a_question_about_a_whole_part_names_it(question: str, part: str) -> None:
    assert read_request(question) == PartRequest(part)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("show the table of refusal reasons", "refusal reasons"),
        ("Could you give me a list of all the keywords, please?", None),
        ("Give me the full list of all the keywords", "keywords"),
        ("print the table with exit codes", "exit codes"),
        ("table of dues", "dues"),
        ("show me the table of contents", None),
        ("What is a table of hash values?", None),
        ("Show me the table", None),
        ("list for me the mates", None),
        ("Show me the list of who died", None),
        ("Make me a list", None),
        ("Give me a list for us of the dues", "dues"),
    ],
)
def test_an_order_to_show_a_table_or_a_list_names_what_it_has(question: str, name: str | None) -> None:
    request = read_request(question)
    assert (request.name if isinstance(request, TableRequest) else None) == name


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("who is starbuck", "starbuck"),
        ("Who was Father Mapple?", "Father Mapple"),
        ("What is a gam?", "gam"),
        ("what's the quota system again", "quota system"),
        ("What does monomorphization mean?", "monomorphization"),
        ("tell me about the Pequod", "Pequod"),
        ("define inode", "inode"),
        ("what does shift do", "shift"),
        ("What does the trap builtin actually do?", "trap builtin"),
        ("what is PS1 used for", "PS1"),
        ("what's the capstan for?", "capstan"),
    ],
)
def test_a_question_of_who_or_what_something_is_names_it(question: str, name: str) -> None:
    assert read_request(question) == IdentityRequest(name)


@pytest.mark.parametrize(
    "question", ['Compare ships and "', "ships vs “”", 'What is the difference between a and "" ?']
)
def test_a_comparison_without_a_second_side_is_none(question: str) -> None:
    assert not isinstance(read_request(question), ComparisonRequest)


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("What is the difference between Send and Sync?", ("Send", "Sync")),
        ("difference between a fast-fish and a loose-fish", ("fast-fish", "loose-fish")),
        ("raid 0 vs raid 1, whats the difference", ("raid 0", "raid 1")),
        ("How does cron differ from anacron?", ("cron", "anacron")),
        ("compare the harbour with the river", ("harbour", "river")),
        ("difference between single and double quotes in muttrc", ("single quotes", "double quotes")),
        ("how do skiffs and dinghies differ?", ("skiffs", "dinghies")),
    ],
)
def test_a_comparison_names_its_two_sides(question: str, sides: tuple[str, str]) -> None:
    assert read_request(question) == ComparisonRequest(sides)


def test_two_questions_in_one_are_two_that_stand_alone() -> None:
    read = read_request("What does Falcot Corp produce, and which release do its administrators choose?")
    assert read == SeveralRequest(
        (
            "What does Falcot Corp produce?",
            "Which release do Falcot Corp's administrators choose?",
        ),
        ("What does Falcot Corp produce?", "which release do its administrators choose?"),
    )


@pytest.mark.parametrize(
    "question",
    [
        "Which city was founded in 1850 and is the capital of the state?",
        "Who wrote the letter and was the first to arrive at the court?",
        "Which sister is married and has a child?",
        "Who killed the king and had the crown melted?",
        "Who did the dishes and was the first to sleep?",
        "Who planned the theft and did it alone?",
        "Where is the ship, which sank in May?",
        "In which town, where he was born, does the pilot live?",
    ],
)
def test_what_is_said_of_one_subject_is_one_question(question: str) -> None:
    assert not isinstance(read_request(question), SeveralRequest)


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        (
            "Who founded Salem, where does Carver lie, and who resigned in May?",
            ("Who founded Salem?", "where does Carver lie?", "who resigned in May?"),
        ),
        (
            "Who founded Salem, who resigned in May, and where does Carver lie?",
            ("Who founded Salem?", "who resigned in May?", "where does Carver lie?"),
        ),
        (
            "Which city was founded in 1850 and is the capital, and who was its founder?",
            ("Which city was founded in 1850 and is the capital?", "who was its founder?"),
        ),
        ("Who killed the king, and did he flee?", ("Who killed the king?", "did he flee?")),
        ("Who killed the king? Was the queen angry?", ("Who killed the king?", "Was the queen angry?")),
        (
            "Which tool does the manual name, and is the tool free?",
            ("Which tool does the manual name?", "is the tool free?"),
        ),
    ],
)
def test_a_question_is_split_into_all_that_it_asks(question: str, asked: tuple[str, ...]) -> None:
    read = read_request(question)
    assert isinstance(read, SeveralRequest)
    assert read.asked == asked
    assert read.is_split_wholly


def test_a_part_that_asks_two_things_is_known() -> None:
    read = read_request("Who founded Salem, and what is the name of the ship, which sank in May?")
    assert isinstance(read, SeveralRequest)
    assert not read.is_split_wholly


@pytest.mark.parametrize(
    "question",
    [
        "My screen is black when the installer boots, what can I do?",
        "What is the name of Ahab's ship?",
        "What is the capital of the country that they fled to?",
        "Who is it?",
        "When was the harbour built?",
        "why does Ishmael go to sea?",
        "how do I add a user?",
        "How do I start?",
        "What does it say?",
        "What does Ahab say?",
        "which " * 60 + "?",
        "Which ports were salt and which fish were sold?",
        "",
    ],
)
def test_a_plain_question_is_left_alone(question: str) -> None:
    read: Request | None = read_request(question)
    assert read is None or isinstance(read, SeveralRequest) == ("and which" in question)


@pytest.mark.parametrize(
    ("question", "asked", "language"),
    [
        ("Answer in Urdu: who is Ahab?", "who is Ahab?", "Urdu"),
        ("please reply in german, what is a relay?", "what is a relay?", "German"),
        ("Who is Ahab? (Answer in French, please)", "Who is Ahab?", "French"),
        ("Who is Ahab? Respond in Chinese.", "Who is Ahab?", "Chinese"),
        ("What is the ship called in German?", "What is the ship called in German?", ""),
        ("Answer in short: who is Ahab?", "Answer in short: who is Ahab?", ""),
        ("Did Ahab answer in Latin?", "Did Ahab answer in Latin?", ""),
    ],
)
def test_the_language_that_a_reader_wants_is_no_part_of_the_question(
    question: str, asked: str, language: str
) -> None:
    assert read_reply_language(question) == (asked, language)
