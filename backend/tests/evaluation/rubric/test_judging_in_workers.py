"""Judging in worker processes, each with its own child process for symbolic answers."""

from tunix_rt.base.host import in_this_process, worker_processes
from tunix_rt.datasets.types import EvalItem, evalset_hash
from tunix_rt.evaluation.scoring.extraction import MAX_ANSWER_CHARS
from tunix_rt.evaluation.scoring.judgement import CHUNK_SIZE, judge_all, protocol_versions
from tunix_rt.evaluation.types import Generation, Protocol, default_extraction


def make_item(index: int) -> EvalItem:
    answer = "2\\sqrt{2}" if index % 200 == 0 else str(index)
    return EvalItem(
        id=f"q-{index}",
        prompt="What is it?",
        expected_answer=answer,
        section="core",
        category="math",
        difficulty="easy",
    )


def test_workers_match_single_process() -> None:
    items = [make_item(index) for index in range(2 * CHUNK_SIZE + 1)]
    texts = (
        "<answer>\\sqrt{8}</answer>",
        "<reasoning>\n1 + 1 = 3\n</reasoning>\n<answer>7</answer>",
        "no idea",
    )
    generations = [
        Generation(item_id=item.id, text=texts[number % 3], finish="end-of-turn")
        for number, item in enumerate(items)
    ]
    protocol = Protocol(
        evalset_hash=evalset_hash(items),
        template_hash="0" * 64,
        extraction=default_extraction("reasoning"),
        max_answer_chars=MAX_ANSWER_CHARS,
        versions=protocol_versions(items),
    )
    expected = list(judge_all(items, generations, protocol, in_this_process))
    with worker_processes() as mapper:
        assert list(judge_all(items, generations, protocol, mapper)) == expected
    assert expected[0].judgement.is_correct
