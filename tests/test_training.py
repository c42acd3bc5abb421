"""The graph for two texts that `training/` writes computes what a plain forward pass computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from training.pair_graph import build_pair_graph
from training.passages import find_part

from octavo.errors import WeightsError
from octavo.models import graph
from octavo.models.embedding import open_session
from octavo.models.graph import Precision, Recipe
from tests.support.tiny_bert import HEADS, HIDDEN, POSITIONS, WORDS, Array, encode, make_weights

RECIPE = Recipe(heads=HEADS)
AT_FIRST = frozenset({"rank", "support"})
IDS, KINDS = [1, 5, 9, 2, 11, 7, 4, 18, 2], [0, 0, 0, 0, 1, 1, 1, 1, 1]


def headed(seed: int = 7) -> dict[str, Array]:
    random = np.random.default_rng(seed)
    made = make_weights(seed)
    for name, size in {"span": 2, "rank": 1, "support": 1}.items():
        made[f"head.{name}.weight"] = random.normal(0, 0.5, (size, HIDDEN)).astype(np.float32)
        made[f"head.{name}.bias"] = random.normal(0, 0.5, size).astype(np.float32)
    return made


WEIGHTS = headed()


class Run:
    """A graph from `WEIGHTS`, written to a file and loaded as Octavo loads it."""

    def __init__(self, folder: Path, precision: Precision, at_first: frozenset[str] = AT_FIRST) -> None:
        path = folder / f"{precision}.onnx"
        path.write_bytes(build_pair_graph(WEIGHTS, RECIPE, at_first=at_first, precision=precision))
        self.session: Any = open_session(path)

    def __call__(
        self, ids: list[list[int]], kinds: list[list[int]], mask: list[list[int]] | None = None
    ) -> dict[str, Array]:
        values = {"input_ids": ids, "token_type_ids": kinds}
        values["attention_mask"] = mask or [[1] * len(row) for row in ids]
        names = [output.name for output in self.session.get_outputs()]
        feeds = {name: np.array(rows, np.int64) for name, rows in values.items()}
        return dict(zip(names, self.session.run(names, feeds), strict=True))


def by_hand(ids: list[int], kinds: list[int]) -> dict[str, Array]:
    x = encode(WEIGHTS, ids, kinds=kinds)
    out = {}
    for name in ("span", "rank", "support"):
        given_ = x[:1] if name in AT_FIRST else x
        out[name] = given_ @ WEIGHTS[f"head.{name}.weight"].T + WEIGHTS[f"head.{name}.bias"]
    return out


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(tmp_path_factory.mktemp("graph"), "fp32")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(tmp_path_factory.mktemp("graph"), "int8")


pieces = st.lists(st.integers(0, len(WORDS) + 3), min_size=1, max_size=10)


@given(pieces, pieces)
@settings(max_examples=30, deadline=None)
def test_in_full_precision_the_file_computes_what_the_weights_say(
    exact: Run, first: list[int], second: list[int]
) -> None:
    ids, kinds = first + second, [0] * len(first) + [1] * len(second)
    out, meant = exact([ids], [kinds]), by_hand(ids, kinds)
    assert set(out) == set(meant)
    for name in meant:
        np.testing.assert_allclose(out[name].reshape(meant[name].shape), meant[name], atol=2e-4)


def test_at_8_bits_it_is_near_that(small: Run) -> None:
    out, meant = small([IDS], [KINDS]), by_hand(IDS, KINDS)
    for name in meant:
        spread = np.abs(meant[name]).max()
        assert np.abs(out[name].reshape(meant[name].shape) - meant[name]).max() < 0.15 * spread


def test_heads_at_the_first_piece_have_one_row_and_the_others_one_for_each_piece(exact: Run) -> None:
    out = exact([IDS, IDS], [KINDS, KINDS])
    assert (out["span"].shape, out["rank"].shape) == ((2, len(IDS), 2), (2, 1))
    np.testing.assert_allclose(out["rank"][0], out["rank"][1], atol=1e-6)


def test_a_head_may_be_read_at_every_piece_instead(exact: Run, tmp_path: Path) -> None:
    every = Run(tmp_path, "fp32", at_first=frozenset())([IDS], [KINDS])
    assert every["rank"].shape == (1, len(IDS), 1)
    np.testing.assert_allclose(every["rank"][0, 0], exact([IDS], [KINDS])["rank"][0], atol=1e-6)


def test_it_matters_which_text_a_piece_belongs_to(exact: Run) -> None:
    one, other = exact([IDS], [KINDS]), exact([IDS], [[0] * len(IDS)])
    assert np.abs(one["span"] - other["span"]).max() > 0.05


def test_what_is_masked_does_not_count(exact: Run) -> None:
    padded = exact([[*IDS, 0, 0]], [[*KINDS, 0, 0]], [[1] * len(IDS) + [0, 0]])
    plain = exact([IDS], [KINDS])
    np.testing.assert_allclose(padded["rank"], plain["rank"], atol=1e-5)
    np.testing.assert_allclose(padded["span"][:, : len(IDS)], plain["span"], atol=1e-5)


def test_as_many_pieces_as_there_are_places_go_through(exact: Run) -> None:
    assert exact([[3] * POSITIONS], [[1] * POSITIONS])["span"].shape == (1, POSITIONS, 2)


@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_the_same_weights_give_the_same_bytes(precision: Precision) -> None:
    made = [build_pair_graph(headed(), RECIPE, at_first=AT_FIRST, precision=precision) for _ in range(2)]
    assert made[0] == made[1]
    shuffled = dict(sorted(headed().items(), reverse=True))
    assert build_pair_graph(shuffled, RECIPE, at_first=AT_FIRST, precision=precision) == made[0]
    assert build_pair_graph(headed(8), RECIPE, at_first=AT_FIRST, precision=precision) != made[0]


def test_the_embedders_graph_is_as_it_was() -> None:
    import onnx

    model = onnx.load_from_string(graph.build_graph(make_weights(), RECIPE, precision="fp32"))
    assert [i.name for i in model.graph.input] == ["input_ids", "attention_mask"]
    assert [o.name for o in model.graph.output] == ["sentence_embedding"]


def test_weights_that_are_not_whole_are_refused() -> None:
    lacking = {name: array for name, array in WEIGHTS.items() if "token_type" not in name}
    with pytest.raises(WeightsError, match="token_type"):
        build_pair_graph(lacking, RECIPE, at_first=AT_FIRST, precision="fp32")


@pytest.mark.parametrize(
    ("book", "part"),
    [
        ("charlotte-bronte_jane-eyre", "fit"),
        ("question-passages", "fit"),
        ("bram-stoker_dracula", "tune"),
        ("encyclopaedia-Huguenot", "tune"),
        ("andersen-fairybook", "test"),
        ("encyclopaedia-Warsaw", ""),
        ("blue-fairybook", ""),
    ],
)
def test_no_book_of_the_suite_is_learnt_from(book: str, part: str) -> None:
    assert find_part(book) == part
