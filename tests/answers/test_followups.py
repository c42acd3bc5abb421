"""Follow-ups as readers type them: about half stand alone and stay as they are, to the letter."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.answers import followups
from octavo.answers.followups import has_no_referent, interpret, is_small_talk
from octavo.answers.turns import Turn

WHALE = Turn("Is the whale white?", "Yes, the whale is white. [1]")
COLOUR = Turn("What colour is the whale?", "The whale is white. [1]")
AHAB = Turn("Who is Captain Ahab?", "Captain Ahab commands the Pequod. He lost his leg. [1]")
HOME = Turn("Where does Captain Ahab live?", "Captain Ahab lives in Nantucket. [1]")
AUTHOR = Turn("Who wrote Moby Dick?", "Herman Melville wrote Moby Dick in 1851. [1]")
BEARS = Turn("What do bears eat in summer?", "Berries, grass and roots make up most of it. [1]")
MATES = Turn("Who are the mates of the Pequod?", "The mates are Starbuck, Stubb, and Flask. [1]")
RULES = Turn(
    "What are the ownership rules?",
    "- Each value has an owner. [1]\n- There can only be one owner at a time.\n- Scope: it drops there.",
)
PUMP = Turn("How do I clean the pump?", "Unplug the pump, then rinse the filter under water. [1]")
HASTINGS = Turn("Who won the Battle of Hastings?", "William of Normandy won the battle in 1066. [1]")
CAPITAL = Turn("What is the capital of France?", "The capital of France is Paris. [1]")
QUEEN = Turn("When was Queen Victoria crowned?", "Victoria was crowned on 28 June 1838. [1]")
WHALES = Turn("Do sperm whales have teeth?", "Sperm whales have teeth in the lower jaw. [1]")
DOGS = Turn("How long do the males live?", "They reach about twelve years. [1]")
PAIR = Turn("Who is older, Ishmael or Queequeg?", "The book doesn't say.")
REFUSED = Turn("What does Ahab eat for breakfast?", "The book doesn't say.")
OWNERSHIP = Turn("What is ownership?", "Ownership is a set of rules that govern memory. [1]")
LONDON = Turn("What was the population of London in 1801?", "About one million people lived in it. [1]")
BATTERY = Turn("Can the battery be replaced?", "No. The battery is sealed. [1]")

REWRITTEN = (
    (WHALE, "Why?", "Why is the whale white?"),
    (WHALE, "and why is that?", "Why is the whale white?"),
    (COLOUR, "why", "Why is the whale white?"),
    (HOME, "Why?", "Why does Captain Ahab live in Nantucket?"),
    (AUTHOR, "When?", "When did Herman Melville write Moby Dick in 1851?"),
    (QUEEN, "Where?", "Where was Queen Victoria crowned?"),
    (QUEEN, "By whom?", "By whom was Queen Victoria crowned?"),
    (Turn("Did Ahab marry?", "Yes, he married late."), "Who?", "Who did Ahab marry?"),
    (Turn("Did anyone survive the wreck?", "Yes."), "who?", "Who did survive the wreck?"),
    (WHALES, "How many?", "How many teeth do sperm whales have?"),
    (RULES, "how many?", "How many ownership rules are there?"),
    (MATES, "How many exactly?", "How many mates of the Pequod are there?"),
    (BATTERY, "Why not?", "Why is the battery sealed?"),
    (Turn("Can whales breathe water?", "No."), "Why not?", "Why can't whales breathe water?"),
    (Turn("Did Ahab kill the whale?", "Yes."), "How did he do it?", "How did Ahab kill the whale?"),
    (Turn("Did the king flee?", "Yes."), "Why did he do that?", "Why did the king flee?"),
    (REFUSED, "Why?", "Why? (What does Ahab eat for breakfast?)"),
    (BEARS, "And in winter?", "What do bears eat in winter?"),
    (BEARS, "what about wolves?", "What do wolves eat in summer?"),
    (BEARS, "and in Canada?", "What do bears eat in summer in Canada?"),
    (DOGS, "and the females?", "How long do the females live?"),
    (DOGS, "What about a puppy?", "How long does a puppy live?"),
    (LONDON, "what about Paris?", "What was the population of Paris in 1801?"),
    (LONDON, "and in 1901?", "What was the population of London in 1901?"),
    (
        Turn("Is the dose safe for adults?", "Yes."),
        "how about for children?",
        "Is the dose safe for children?",
    ),
    (Turn("What happens in chapter 4?", "Ahab dines."), "and chapter 5?", "What happens in chapter 5?"),
    (HOME, "and his wife?", "Where does Captain Ahab's wife live?"),
    (HOME, "What does he do there?", "What does Captain Ahab do in Nantucket?"),
    (AHAB, "When was he born?", "When was Captain Ahab born?"),
    (AHAB, "who is his brother", "Who is Captain Ahab's brother"),
    (AUTHOR, "When was he born?", "When was Herman Melville born?"),
    (AUTHOR, "Is it a true story?", "Is Moby Dick a true story?"),
    (Turn("What is Moby Dick about?", "A whale."), "Who wrote it?", "Who wrote Moby Dick?"),
    (WHALE, "how big is it", "How big is the whale"),
    (WHALE, "What does it eat?", "What does the whale eat?"),
    (WHALES, "Are they dangerous?", "Are sperm whales dangerous?"),
    (WHALES, "What colour are their eyes?", "What colour are sperm whales' eyes?"),
    (PUMP, "How often should I clean it?", "How often should I clean the pump?"),
    (PUMP, "Is this dangerous?", "Is the pump dangerous?"),
    (OWNERSHIP, "How does that work?", "How does ownership work?"),
    (HASTINGS, "When was he crowned?", "When was William of Normandy crowned?"),
    (HASTINGS, "Where did it take place?", "Where did the Battle of Hastings take place?"),
    (CAPITAL, "How many people live there?", "How many people live in Paris?"),
    (CAPITAL, "how do I get there", "How do I get to Paris"),
    (QUEEN, "And who did she marry?", "Who did Queen Victoria marry?"),
    (Turn("Does Elizabeth love Mr Darcy?", "Yes."), "And does he love her?", "Does Mr Darcy love Elizabeth?"),
    (Turn("Does Elizabeth love Mr Darcy?", "Yes."), "how about Jane?", "Does Jane love Mr Darcy?"),
    (Turn("Why did the fox trick the wolf?", "It was hungry."), "Who helped him?", "Who helped the fox?"),
    (Turn("What causes malaria?", "A parasite."), "what are its symptoms?", "What are malaria's symptoms?"),
    (QUEEN, "who was her husband?", "Who was Queen Victoria's husband?"),
    (PAIR, "Where is the latter from?", "Where is Queequeg from?"),
    (MATES, "What about the second one?", "Tell me more about Stubb."),
    (MATES, "Where was the last one born?", "Where was Flask born?"),
    (RULES, "tell me more about the third", "Tell me more about Scope"),
    (RULES, "the second one?", "Tell me more about “There can only be one owner at a time”."),
    (AHAB, "Tell me more", "Tell me more about Captain Ahab."),
    (PUMP, "more details please", "Tell me more about how to clean the pump."),
    (Turn("Why is the whale white?", "Nobody knows."), "Go on", "Tell me more about the whale."),
)

ALONE = (
    (WHALE, "Why is the sea salt?"),
    (WHALE, "Are you sure?"),
    (WHALE, "Thanks!"),
    (WHALE, "ok thank you very much"),
    (WHALE, "Hello"),
    (WHALE, "Is that true?"),
    (WHALE, "What is the Pequod?"),
    (AHAB, "Why did Starbuck lose his nerve?"),
    (AHAB, "How did Queen Mary lose her crown?"),
    (AHAB, "When Ishmael met Queequeg, what did he think?"),
    (AHAB, "In his youth, did Napoleon write novels?"),
    (AHAB, "What does the whale do with its tail?"),
    (AHAB, "Are there any whales in the Baltic?"),
    (AHAB, "Is there a map of the voyage?"),
    (AHAB, "Did Starbuck say that he wanted to go home?"),
    (AHAB, "Who said that?"),
    (AHAB, "Which chapter describes that whale?"),
    (AHAB, "What happens in this chapter?"),
    (PUMP, "Is it safe to drink the water?"),
    (PUMP, "How long does it take to charge the battery?"),
    (PUMP, "If the battery is dead, how do I charge it?"),
    (PUMP, "How do I charge the battery when it is hot?"),
    (PUMP, "What is the first step of the installation?"),
    (PUMP, "Where is it said that the filter must be dry?"),
    (OWNERSHIP, "How do references work?"),
    (OWNERSHIP, "What is the difference between a String and a str?"),
    (OWNERSHIP, "How do I install Rust on Windows?"),
    (OWNERSHIP, "What about the lifetime of a borrowed reference in a struct?"),
    (HASTINGS, "Who was the first king of England?"),
    (HASTINGS, "And when did the Normans build the Tower of London?"),
    (HASTINGS, "What did the Normans eat in winter?"),
    (HASTINGS, "How did the peasants pay their taxes?"),
    (CAPITAL, "When was the Eiffel Tower built and who designed it?"),
    (CAPITAL, "List the kings of France"),
    (BEARS, "Do mothers feed their cubs?"),
    (BEARS, "How many cubs does a female have?"),
    (BEARS, "Wie alt wird er und wo kommt er her?"),
    (BEARS, "¿Por qué?"),
    (QUEEN, "What did Albert give his wife?"),
    (MATES, "Who dies first?"),
    (RULES, "What happens when a value goes out of scope?"),
    (RULES, "Who came second?"),
    (AHAB, "Why did the young sailor think he would drown?"),
    (AHAB, "Which sailors survive, and what are their names?"),
    (AHAB, "What did Tashtego bring with him?"),
    (PUMP, "How far is it from the pump to the tank?"),
    (PUMP, "Starbuck believes that:"),
    (DOGS, "It"),
    (DOGS, "?"),
)


@pytest.mark.parametrize(("before", "asked", "meant"), REWRITTEN)
def test_a_follow_up_is_put_in_full(before: Turn, asked: str, meant: str | None) -> None:
    assert interpret(asked, [before]) == (meant or asked)


@pytest.mark.parametrize(("before", "asked"), ALONE)
def test_a_question_that_stands_alone_is_left_alone(before: Turn, asked: str) -> None:
    assert interpret(asked, [before]) == asked


def test_without_a_history_nothing_is_rewritten() -> None:
    assert interpret("Why?", []) == "Why?"
    assert interpret("And in winter?", [Turn("Thanks!", "You are welcome.")]) == "And in winter?"


def test_small_talk_in_between_does_not_cut_the_thread() -> None:
    assert interpret("Why?", [WHALE, Turn("Are you sure?", "Yes.")]) == "Why is the whale white?"


def test_a_conversation_is_followed_through_its_interpreted_questions() -> None:
    history: list[Turn] = []
    asked = ("Who is Captain Ahab?", "Where does he live?", "And his wife?", "Why?")
    answers = ("A whaler.", "In a house by the sea.", "Captain Ahab's wife lives in Nantucket.", "")
    for question, answer in zip(asked, answers, strict=True):
        history.append(Turn(interpret(question, history), answer))
    assert [turn.question for turn in history[1:]] == [
        "Where does Captain Ahab live?",
        "Where does Captain Ahab's wife live?",
        "Why does Captain Ahab's wife live in Nantucket?",
    ]


def test_a_name_is_remembered_over_a_turn_that_has_none() -> None:
    history = [AHAB, Turn("What is a harpoon?", "A spear.")]
    assert interpret("When was he born?", history) == "When was Captain Ahab born?"


def test_they_are_what_the_last_two_questions_asked_for() -> None:
    history = [Turn("What is a skiff?", "A boat."), Turn("What is a dinghy?", "A small boat for two.")]
    meant = "What is the difference between a skiff and a dinghy?"
    assert interpret("what is the difference between them?", history) == meant


def test_nobody_is_an_it() -> None:
    history = [Turn("What is the Pequod?", "A ship."), Turn("Who is Captain Ahab?", "Ahab is her captain.")]
    assert interpret("Where did it sink?", history) == "Where did the Pequod sink?"


def test_no_question_grows_beyond_what_a_question_may_have() -> None:
    long = Turn("Is " + "the very long tale " * 52 + "white?", "Yes.")
    assert interpret("Why?", [long]) == "Why?"
    assert interpret("x" * 1200, [WHALE]) == "x" * 1000


WORDS = """and what about how why who he his it their there that the second one of latter former is are did
The Ahab Ahab's whale white in winter 1851 - … ? , . “ ” [1] 's no yes Of THE It"""
PIECES = st.sampled_from(WORDS.split())
TEXTS = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=12).map(" ".join))


@given(TEXTS, st.lists(st.builds(Turn, TEXTS, TEXTS), max_size=3))
def test_any_text_gets_a_question_of_fair_length_and_always_the_same(
    question: str, history: list[Turn]
) -> None:
    made = interpret(question, history)
    assert len(made) <= 1000
    assert made == interpret(question, list(history))
    assert bool(made.strip()) == bool(question.strip())


def examples() -> Iterator[tuple[str, ...]]:
    for _, function in inspect.getmembers(followups, inspect.isfunction):
        for line in (inspect.getdoc(function) or "").splitlines():
            if line.startswith("After: "):
                yield tuple(part.strip() for part in line.removeprefix("After: ").split(" | "))


@pytest.mark.parametrize(("question", "answer", "follow_up", "expected"), list(examples()))
def test_each_rule_does_what_its_examples_say(
    question: str, answer: str, follow_up: str, expected: str
) -> None:
    assert interpret(follow_up, [Turn(question, answer)]) == expected


def test_every_rule_has_an_example() -> None:
    assert all("After: " in (inspect.getdoc(rule) or "") for rule in followups.RULES)
    assert len(list(examples())) >= 15


@pytest.mark.parametrize("text", ["thanks!", "Thank you very much.", "ok", "Hello"])
def test_thanks_and_greetings_are_small_talk(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize("text", ["Why?", "Who says thanks?", "When", "tell me more"])
def test_a_question_is_not_small_talk(text: str) -> None:
    assert not is_small_talk(text)


@pytest.mark.parametrize(
    ("said", "lacks"),
    [
        ("What about the second one?", True),
        ("And how about the last rule?", True),
        ("What about the latter?", True),
        ("Show me the source", True),
        ("What about the second reason Queequeg gives for the voyage?", False),
        ("How about the first rule of the club?", False),
        ("What is the source?", False),
    ],
)
def test_a_message_lacks_a_referent_only_if_it_does_not_name_it(said: str, lacks: bool) -> None:
    assert has_no_referent(said) == lacks
