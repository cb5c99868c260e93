"""Makes every file that ships inside the package. A test makes them again and compares each byte."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from tunix_rt.core.evalset import EvalItem, item_json
from tunix_rt.core.generation.demo_arithmetic import (
    DEMO_DATASET,
    DEMO_EVALSET,
    demo_held_out_items,
    demo_traces,
)
from tunix_rt.core.generation.dev_reasoning import DEV_DATASET, dev_reasoning_traces
from tunix_rt.core.generation.eval_v2 import EVAL_V2, eval_v2_items
from tunix_rt.core.trace import Trace, canonical_json
from tunix_rt.files.assets import ASSETS_DIR, TRACES_FILE
from tunix_rt.files.atomic import write_atomically
from tunix_rt.services.tiny_tokenizer import tokenizer_config_json, train_tiny_tokenizer

# In a checkout the seeds' command lines name `training/evalsets/eval_v2.jsonl`; a wheel has only the assets.
CHECKOUT_EVALSETS_DIR = ASSETS_DIR.parents[3] / "training" / "evalsets"


def shipped_files() -> Iterator[tuple[str, str]]:
    """(path inside the assets directory, text) of each shipped file."""
    dev, demo = list(dev_reasoning_traces()), list(demo_traces())
    yield f"datasets/{DEV_DATASET}/{TRACES_FILE}", _traces_text(dev)
    yield f"datasets/{DEMO_DATASET}/{TRACES_FILE}", _traces_text(demo)
    yield f"evalsets/{EVAL_V2}.jsonl", _items_text(eval_v2_items())
    yield f"evalsets/{DEMO_EVALSET}.jsonl", _items_text(demo_held_out_items())
    yield "tokenizers/tiny/tokenizer.json", train_tiny_tokenizer(dev + demo).to_str(pretty=True) + "\n"
    yield "tokenizers/tiny/tokenizer_config.json", tokenizer_config_json()


def regenerate_shipped_data(
    assets_dir: Path = ASSETS_DIR, *, evalsets_dir: Path | None = CHECKOUT_EVALSETS_DIR
) -> list[Path]:
    """Write every shipped file anew; returns the paths whose content changed.

    Args:
        assets_dir: where the package's files go.
        evalsets_dir: where the second copy of the eval set goes, for the command lines that name it; None,
            or a directory that does not exist (an installed package has none), means no second copy.
    """
    files = [(assets_dir / relative, text) for relative, text in shipped_files()]
    if evalsets_dir is not None and evalsets_dir.is_dir():
        files.append((evalsets_dir / f"{EVAL_V2}.jsonl", _items_text(eval_v2_items())))
    return [path for path, text in files if _write_if_changed(path, text.encode("utf-8"))]


def _write_if_changed(path: Path, data: bytes) -> bool:
    if path.is_file() and path.read_bytes() == data:
        return False
    with write_atomically(path, what="writing the shipped data") as file:
        file.write(data)
    return True


def _traces_text(traces: Iterable[Trace]) -> str:
    return "".join(canonical_json(trace) + "\n" for trace in traces)


def _items_text(items: Iterable[EvalItem]) -> str:
    return "".join(item_json(item) + "\n" for item in items)
