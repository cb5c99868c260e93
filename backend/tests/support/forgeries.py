"""Tools of a forger: change the files of a bundle and write everything that is derived from them again."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tunix_rt.base.errors import DataError
from tunix_rt.datasets.types import EvalItem, evalset_hash, item_json
from tunix_rt.evaluation.scoring.judgement import judge
from tunix_rt.evaluation.scoring.scores import score
from tunix_rt.evaluation.types import Protocol
from tunix_rt.evidence.documents import devices_text, environment_text, json_text, lock_text, statement
from tunix_rt.evidence.files import open_bundle
from tunix_rt.evidence.reader import Contents
from tunix_rt.evidence.summary import eval_summary, success_headline

Edit = Callable[[Any], object]


def change(path: str, edit: Edit) -> Callable[[Path], None]:
    """Change a JSON file in place."""

    def forge(bundle: Path) -> None:
        value = json.loads((bundle / path).read_bytes())
        edit(value)
        (bundle / path).write_text(json_text(value), encoding="utf-8")

    return forge


def change_lines(path: str, edit: Edit) -> Callable[[Path], None]:
    """Change every line of a JSONL file in place."""

    def forge(bundle: Path) -> None:
        lines = [json.loads(line) for line in (bundle / path).read_text(encoding="utf-8").splitlines()]
        for line in lines:
            edit(line)
        write_lines(bundle / path, lines)

    return forge


def change_all(paths: tuple[str, ...], old: str, new: str) -> Callable[[Path], None]:
    """Replace a text in several files."""

    def forge(bundle: Path) -> None:
        for path in paths:
            before = (bundle / path).read_text(encoding="utf-8")
            assert old in before, path
            (bundle / path).write_text(before.replace(old, new), encoding="utf-8")

    return forge


def write_lines(path: Path, lines: list[Any]) -> None:
    """Write a JSONL file."""
    path.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), encoding="utf-8")


def forge_questions(old: str, new: str) -> Callable[[Path], None]:
    """Replace a question everywhere, and judge the answers again."""

    def forge(bundle: Path) -> None:
        change_all(("evalset.jsonl", "predictions.jsonl"), old, new)(bundle)
        judge_again(bundle)

    return forge


def forge_answers(bundle: Path) -> None:
    """Replace the completion of the wrong answer, and judge the answers again."""

    def edit(line: dict[str, Any]) -> None:
        generation = line["generation"]
        answer = line["expected_answer"]
        generation["text"] = f"<reasoning>\n9 + 8 = {answer}\n</reasoning>\n<answer>{answer}</answer>"

    change_lines("predictions.jsonl", edit)(bundle)
    judge_again(bundle)


def judge_again(bundle: Path) -> None:
    """Write verdicts, scores, hashes and fingerprint as an honest evaluation of these answers would."""
    lines = (bundle / "evalset.jsonl").read_text(encoding="utf-8").splitlines()
    items = [EvalItem.model_validate_json(line) for line in lines]
    (bundle / "evalset.jsonl").write_text("".join(f"{item_json(item)}\n" for item in items), encoding="utf-8")
    evaluation = json.loads((bundle / "evaluation.json").read_bytes())
    request = json.loads((bundle / "eval_request.json").read_bytes())
    for value in (evaluation, request):
        value["protocol"]["evalset_hash"] = evalset_hash(items)
    protocol = Protocol.model_validate(evaluation["protocol"], strict=False)
    with open_bundle(bundle) as opened:
        stated = list(Contents(opened).predictions())
    by_id = {item.id: item for item in items}
    judged = [judge(by_id[line.item_id], line.generation, protocol) for line in stated]
    write_lines(bundle / "predictions.jsonl", [line.to_json() for line in judged])
    has_lenient_rules = bool(protocol.extraction.lenient_rules)
    evaluation["scores"] = score(judged, has_lenient_rules=has_lenient_rules).to_json()
    evaluation["fingerprint"] = protocol.fingerprint
    (bundle / "evaluation.json").write_text(json_text(evaluation), encoding="utf-8")
    (bundle / "eval_request.json").write_text(json_text(request), encoding="utf-8")


def derive(bundle: Path) -> None:
    """Write every file again that follows from others: snapshots, provenance, summary and headline."""
    with suppress(DataError), open_bundle(bundle) as opened:
        contents = Contents(opened)
        manifest, environment = contents.manifest(), contents.environment()
        texts = {
            "env_snapshot.txt": environment_text(environment),
            "gpu_snapshot.txt": devices_text(environment),
            "requirements.lock.txt": lock_text(environment) or "",
            "provenance.intoto.json": json_text(
                statement(manifest, environment, contents.recipe()).to_json()
            ),
        }
        summary = eval_summary(manifest, contents.curve(), contents.evaluation())
        assert summary is not None
        texts["eval_summary.json"] = json_text(summary.to_json())
        for path, content in texts.items():
            (bundle / path).write_text(content, encoding="utf-8")
        change("evidence.json", lambda value: value.update(headline=success_headline(summary)))(bundle)
