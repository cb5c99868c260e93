import random

from hypothesis import given
from hypothesis import strategies as st
from support.evaluations import make_evaluation, make_model, make_predictions, make_protocol

from tunix_rt.engines.types import Decoding
from tunix_rt.evaluation.comparison.leaderboard import leaderboard
from tunix_rt.evaluation.comparison.types import LeaderboardEntry, LeaderboardGroup
from tunix_rt.evaluation.types import summary_of
from tunix_rt.models.types import EvaluationSummary


def summary(name: str, num_right: int, num_items: int = 200, **values: object) -> EvaluationSummary:
    predictions = make_predictions("1" * num_right + "0" * (num_items - num_right))
    return summary_of(make_evaluation(predictions, **{"name": name} | values))


def only_group(*summaries: EvaluationSummary) -> LeaderboardGroup:
    (group,) = leaderboard(summaries).groups
    return group


def ranks(group: LeaderboardGroup) -> dict[str, int | None]:
    return {entry.evaluation.model.name: entry.rank for entry in group.entries}


def by_name(group: LeaderboardGroup) -> dict[str, LeaderboardEntry]:
    return {entry.evaluation.model.name: entry for entry in group.entries}


def test_overlapping_intervals_share_rank() -> None:
    group = only_group(summary("worst", 100), summary("best", 180), summary("second", 176))
    assert ranks(group) == {"best": 1, "second": 1, "worst": 3}
    assert [entry.is_tied for entry in group.entries] == [True, True, False]


def test_clear_winner_ranks_alone() -> None:
    group = only_group(summary("a", 190), summary("b", 100), summary("c", 95))
    assert ranks(group) == {"a": 1, "b": 2, "c": 2}


def test_protocols_are_ranked_separately() -> None:
    sampled = make_protocol(decoding=Decoding(temperature=0.7))
    board = leaderboard(
        [summary("a", 150, age_hours=1), summary("b", 10, protocol=sampled), summary("c", 20, age_hours=2)]
    )
    names = [[entry.evaluation.model.name for entry in group.entries] for group in board.groups]
    assert names == [["b"], ["a", "c"]]
    assert all(group.entries[0].rank == 1 for group in board.groups)


def test_trained_model_shows_base_difference() -> None:
    entries = by_name(only_group(summary("run-1", 150), summary("base-model", 50), summary("unrelated", 60)))
    assert entries["base-model"].is_base
    assert not entries["run-1"].is_base
    assert entries["run-1"].difference_to_base == 0.5
    assert entries["run-1"].base_evaluation_id == entries["base-model"].evaluation.evaluation_id
    assert entries["unrelated"].difference_to_base is None


def test_base_of_other_protocol_is_ignored() -> None:
    sampled = make_protocol(decoding=Decoding(temperature=0.7))
    board = leaderboard([summary("run-1", 150), summary("base-model", 50, protocol=sampled)])
    assert all(entry.difference_to_base is None for group in board.groups for entry in group.entries)


def test_superseded_evaluations_are_hidden() -> None:
    model = make_model("a")
    evaluations = [summary("first", 10, model=model, age_hours=5), summary("second", 20, model=model)]
    board = leaderboard(evaluations)
    assert [entry.evaluation.primary_score for entry in board.groups[0].entries] == [0.1]
    assert (board.num_evaluations, board.num_superseded) == (1, 1)
    assert len(leaderboard(evaluations, shows_all=True).groups[0].entries) == 2


def test_unscored_model_ranks_last() -> None:
    unscored = summary_of(make_evaluation(make_predictions("??"), name="unscored"))
    group = only_group(unscored, summary("a", 0))
    assert ranks(group) == {"a": 1, "unscored": None}
    assert [entry.evaluation.model.name for entry in group.entries] == ["a", "unscored"]


def test_empty_leaderboard_has_no_groups() -> None:
    assert leaderboard([]).groups == ()


@given(st.lists(st.integers(0, 20), min_size=1, max_size=8), st.randoms())
def test_ranking_ignores_input_order(counts: list[int], rng: random.Random) -> None:
    summaries = [summary(f"model-{number}", count, 20) for number, count in enumerate(counts)]
    group = only_group(*summaries)
    shuffled = summaries.copy()
    rng.shuffle(shuffled)
    assert ranks(only_group(*shuffled)) == ranks(group)
    scores = [entry.evaluation.primary_score or 0.0 for entry in group.entries]
    assert scores == sorted(scores, reverse=True)
    assert group.entries[0].rank == 1
