"""A question that names a measure of accounting finds the statement it is computed from. Others stay as they
are."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.library import Library
from octavo.records.words import ANY_WORD
from octavo.search.measures import ONE_IN, find_measures, have_words
from tests.support import pdf_files, small_books
from tests.support.embedders import RecordingEmbedder

LETTER = """The yard improved its ships in 2022 and declined to sell the old ones.
A useful metric for a yard like this is the quick delivery of a ship. We explain why
the ratio of oak to pine matters, and why an analyst would ask about it.
The profile of our hulls is improving. A company like ours is quick to learn."""
BALANCE = """Consolidated Balance Sheets
Assets
Cash and cash equivalents 1,204 980
Accounts receivable, net 331 402
Inventories 77 81
Total current assets 1,612 1,463
Liabilities
Accounts payable 210 190
Total current liabilities 805 911"""
INCOME = """Consolidated Statements of Income
Net sales 9,120 8,877
Cost of sales 7,001 6,790
Gross profit 2,119 2,087
Operating income 611 590
Net income 402 377"""
RISKS = """Storms may delay a launch, and a late launch costs us a fee. If the river freezes
we lose the winter. The metric that we use for ice is not useful in all years."""
REVIEW = """Review of the year
Net sales and cost of sales rose. The gross margin was 23.2 % after 23.5 % in the
year before."""

NOVEL = {
    "The Prison": "Mr. Pell could not pay his total debt, 40 pounds to the baker, and went to prison.",
    "The Church": "The collection period for the poor ends at Easter, when the plate goes to the vicar.",
    "The Ship": "The sailors ate limes. After 30 days at sea the retention rate of vitamin C falls by half.",
    "The Shop": "The widow sold ribbons. Her profit margin was a penny in the shilling, and she lived on it.",
    "The Loom": "Her cousin asked for working capital, and got a loom and a long speech from his aunt.",
    "The Tide": "At night the river rose, and all accounts of the current were short. No cash was lost.",
}


def write_report(path: Path, *pages: str) -> Path:
    """Write a PDF with a chapter on each page."""
    outline = [pdf_files.Mark(0, f"Part {number}", number) for number in range(1, len(pages) + 1)]
    lines = [pdf_files.column(page.splitlines()) for page in pages]
    path.write_bytes(pdf_files.make_book(lines, outline=outline))
    return path


@pytest.mark.parametrize(
    ("question", "line_item"),
    [
        ("Has Norwick's quick ratio improved?", "total current liabilities"),
        ("Compare the OPERATING MARGINS of both years.", "operating income"),
        ("What is the debt-to-equity ratio?", "long-term debt"),
        ("How high is the ROE?", "equity"),
        ("unadjusted EBITDA less capex", "depreciation and amortization"),
        ("unadjusted EBITDA less capex", "property and equipment"),
        ("What is the operating cash flow ratio?", "total current liabilities"),
        ("How high was EBITDAR?", "rent expense"),
        ("How high was the ROCE?", "total assets, total current liabilities"),
        ("return on capital employed", "total assets, total current liabilities"),
        ("Did the EBITDA margin rise?", "total revenues"),
        ("Did the EBITDAR margin rise?", "total revenues"),
        ("What is the debt ratio?", "total liabilities"),
        ("What are the days\u2019 sales outstanding?", "accounts receivable"),
        ("return on shareholders' equity", "net income"),
        ("debt to shareholders' equity", "long-term debt"),
        ("What was the total debt in fiscal 2022?", "long-term debt"),
        ("Is it a capital-intensive business, by the annual report?", "capital expenditures"),
    ],
)
def test_a_measure_is_known_by_its_names_with_its_line_items(question: str, line_item: str) -> None:
    assert line_item in ". ".join(measure.line_items for measure in find_measures(question))


@pytest.mark.parametrize(
    "question",
    [
        "",
        "Which ratio is right?",
        "Who shot the roe?",
        "What is written in the margin?",
        "a quick, good ratio",
        "When does the collection period end?",
        "Why did Mr. Micawber's total debt bring him to prison?",
        "How does the retention rate of vitamin C change?",
        "Is organic growth slower without manure?",
    ],
)
def test_other_questions_name_no_measure(question: str) -> None:
    assert find_measures(question) == ()


def test_the_longest_name_counts_and_each_measure_once() -> None:
    (gross,) = find_measures("Is the gross profit margin useful? If gross margin is not, say why.")
    assert "cost of sales" in gross.line_items
    assert gross.word == ""


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("Gross margins | 23.2% | 23.5%", True),
        ("the gross profit margin was 23 percent", True),
        ("Our gross margin depends on oak.", False),
        ("Our gross margin depends on oak.\nWe bought 12 loads.", False),
    ],
)
def test_a_measure_is_stated_where_a_figure_follows_its_name(text: str, stated: bool) -> None:
    (gross,) = find_measures("gross margin?")
    assert gross.is_stated(text) is stated


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("days sales outstanding", "Days' sales outstanding | 45 | 47"),
        ("days sales outstanding", "Days\u2019 sales outstanding were 45."),
        ("return on equity", "Return on shareholders' equity 12.1 %"),
        ("return on equity", "the return on stockholder's equity was 12 percent"),
    ],
)
def test_a_measure_is_stated_with_a_possessive_too(question: str, text: str) -> None:
    (measure,) = find_measures(question)
    assert measure.is_stated(text)


@pytest.mark.parametrize(
    ("counts", "enough"),
    [
        ({}, False),
        ({ANY_WORD: 4, 1: 1, 2: 1}, True),
        ({ANY_WORD: 4, 1: 1}, False),
        ({ANY_WORD: 40 * ONE_IN, 1: 40, 2: 40}, True),
        ({ANY_WORD: 40 * ONE_IN, 1: 900, 2: 39, 3: 39, 4: 39}, False),
    ],
)
def test_half_of_the_words_must_be_there_often_enough(counts: dict[int, int], enough: bool) -> None:
    assert have_words(counts, (1, 2, 3, 4)) is enough


@pytest.mark.parametrize(
    ("question", "page"),
    [
        (
            "Has the yard's quick ratio improved? If the quick ratio is not a useful metric for a company "
            "like this, then explain why.",
            2,
        ),
        ("Does the yard have an improving operating margin profile? If that is not useful, explain why.", 3),
    ],
)
async def test_a_ratio_finds_the_statement_that_it_is_computed_from(
    tmp_path: Path, question: str, page: int
) -> None:
    report = write_report(tmp_path / "report.pdf", LETTER, BALANCE, INCOME, RISKS)
    async with Library.open(tmp_path / "library", embedder=RecordingEmbedder()) as library:
        book = await library.add(report)
        for scope in (book.id, None):
            first, *_ = await library.search(question, book_id=scope)
            assert first.chunk.page_number == page


async def test_a_passage_that_states_the_measure_comes_before_its_statement(tmp_path: Path) -> None:
    report = write_report(tmp_path / "report.pdf", LETTER, BALANCE, INCOME, RISKS, REVIEW)
    async with Library.open(tmp_path / "library", embedder=RecordingEmbedder()) as library:
        await library.add(report)
        found = await library.search("What was the gross margin of the yard?")
        assert [evidence.chunk.page_number for evidence in found][:2] == [5, 3]


async def test_only_a_measure_that_the_book_does_not_name_adds_a_vector(tmp_path: Path) -> None:
    embedder = RecordingEmbedder()
    pages = {
        "Results": "EBITDA was 12 million crowns.",
        "Statements": f"{INCOME}\n\n{BALANCE}\n\nTotal shareholders' equity 807 552",
        "Ships": "We built nine ships and sold them.",
    }
    async with Library.open(tmp_path / "library", embedder=embedder) as library:
        await library.add(small_books.write_markdown(tmp_path / "yard.md", pages))
        for question, added in (("How many ships?", 0), ("How high was EBITDA?", 0), ("How high is ROE?", 1)):
            embedder.seen.clear()
            await library.search(question)
            assert len(embedder.seen) == 1 + added


@pytest.mark.parametrize(
    ("question", "heading"),
    [
        ("Why did Mr. Pell's total debt bring him to prison?", "The Prison"),
        ("When does the collection period end?", "The Church"),
        ("How does the retention rate of vitamin C change?", "The Ship"),
        ("What was the widow's profit margin on ribbons?", "The Shop"),
        ("Who asked for working capital and got a loom?", "The Loom"),
        ("How did the total debt of 40 pounds to the baker bring him to prison?", "The Prison"),
    ],
)
async def test_a_book_that_is_no_report_is_searched_by_the_question_alone(
    tmp_path: Path, question: str, heading: str
) -> None:
    embedder = RecordingEmbedder()
    async with Library.open(tmp_path / "library", embedder=embedder) as library:
        book = await library.add(small_books.write_markdown(tmp_path / "novel.md", NOVEL))
        for scope in (book.id, None):
            first, *_ = await library.search(question, book_id=scope)
            assert first.chunk.heading_path[-1] == heading
        assert not [text for text in embedder.seen if text.startswith(("Consolidated", "Customers"))]


@pytest.mark.parametrize(
    ("question", "heading"),
    [
        ("Why did Mr. Pell's total debt bring him to prison?", "The Prison"),
        ("When does the collection period end?", "The Church"),
        ("How does the retention rate of vitamin C change?", "The Ship"),
        ("What is the quick ratio?", "The Balance"),
    ],
)
async def test_an_ambiguous_name_without_a_period_stays_as_it_is_beside_statements(
    tmp_path: Path, question: str, heading: str
) -> None:
    embedder = RecordingEmbedder()
    pages = NOVEL | {"The Balance": BALANCE, "The Income": INCOME}
    async with Library.open(tmp_path / "library", embedder=embedder) as library:
        book = await library.add(small_books.write_markdown(tmp_path / "mixed.md", pages))
        embedder.seen.clear()
        first, *_ = await library.search(question, book_id=book.id)
        assert first.chunk.heading_path[-1] == heading
        added = [text for text in embedder.seen if text.startswith(("Consolidated", "Customers"))]
        assert bool(added) is (heading == "The Balance")
