"""A question that names a measure of accounting finds the statement it is computed from. Others stay as they
are."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.library import Library
from octavo.search.measures import find_measures
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
    pages = {"Results": "EBITDA was 12 million crowns.", "Ships": "We built nine ships and sold them."}
    async with Library.open(tmp_path / "library", embedder=embedder) as library:
        await library.add(small_books.write_markdown(tmp_path / "yard.md", pages))
        for question, added in (("How many ships?", 0), ("How high was EBITDA?", 0), ("How high is ROE?", 1)):
            embedder.seen.clear()
            await library.search(question)
            assert len(embedder.seen) == 1 + added
