"""The shipped datasets, eval sets, recipes, rubrics, tokenizers and tiny models, by name.

assets/datasets/<name>/traces.jsonl
assets/evalsets/<name>.jsonl
assets/tokenizers/<name>/{tokenizer.json,tokenizer_config.json}
assets/models/<name>/config.json    the architecture of a built-in model with random weights
assets/models/known.json            architectures of models on the hub, for planning without a network
assets/recipes/<name>.yaml          the recipes of training/configs, available by name everywhere
assets/rubrics/<name>.yaml          rubrics for judge models
"""

import json
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from tunix_rt.base.errors import NotFoundError

ASSETS_DIR = Path(str(resources.files("tunix_rt"))) / "assets"
TRACES_FILE = "traces.jsonl"


def shipped_dataset_names() -> list[str]:
    """The names of the shipped datasets, sorted."""
    return sorted(path.parent.name for path in ASSETS_DIR.glob(f"datasets/*/{TRACES_FILE}"))


def shipped_dataset_path(name: str) -> Path:
    """The JSONL file of a shipped dataset: one canonical trace per line."""
    return _known("dataset", name, shipped_dataset_names(), f"datasets/{name}/{TRACES_FILE}")


def shipped_traces(name: str) -> Iterator[str]:
    """The canonical JSON of each trace of a shipped dataset, in file order."""
    with shipped_dataset_path(name).open(encoding="utf-8", newline="\n") as file:
        for line in file:
            yield line.rstrip("\n")


def shipped_evalset_names() -> list[str]:
    """The names of the shipped eval sets, sorted."""
    return sorted(path.stem for path in ASSETS_DIR.glob("evalsets/*.jsonl"))


def shipped_evalset_path(name: str) -> Path:
    """The JSONL file of a shipped eval set, e.g. `eval_v2`."""
    return _known("eval set", name, shipped_evalset_names(), f"evalsets/{name}.jsonl")


def shipped_tokenizer_names() -> list[str]:
    """The names of the shipped tokenizers, sorted."""
    return sorted(path.parent.name for path in ASSETS_DIR.glob("tokenizers/*/tokenizer.json"))


def shipped_tokenizer_dir(name: str) -> Path:
    """The directory of a shipped tokenizer, in the layout that Hugging Face libraries load."""
    return _known("tokenizer", name, shipped_tokenizer_names(), f"tokenizers/{name}")


def shipped_model_names() -> list[str]:
    """The names of the built-in models, sorted."""
    return sorted(path.parent.name for path in ASSETS_DIR.glob("models/*/config.json"))


def shipped_model_config(name: str) -> dict[str, Any]:
    """The `config.json` of a built-in model, e.g. `tiny-gemma`."""
    path = _known("model", name, shipped_model_names(), f"models/{name}/config.json")
    config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return config


def known_model_configs() -> dict[str, dict[str, Any]]:
    """Hub id to `config.json`, of the models whose architecture ships with the package."""
    entries = json.loads((ASSETS_DIR / "models" / "known.json").read_text(encoding="utf-8"))
    return {hub_id: entry["config"] for entry in entries for hub_id in entry["hub_ids"]}


def shipped_recipe_names() -> list[str]:
    """The names of the shipped recipes, sorted."""
    return sorted(path.stem for path in ASSETS_DIR.glob("recipes/*.yaml"))


def shipped_recipe_path(name: str) -> Path:
    """The YAML file of a shipped recipe."""
    return _known("recipe", name, shipped_recipe_names(), f"recipes/{name}.yaml")


def shipped_rubric_path(name: str) -> Path:
    """The YAML file of a shipped rubric, e.g. `shown_work`."""
    names = sorted(path.stem for path in ASSETS_DIR.glob("rubrics/*.yaml"))
    return _known("rubric", name, names, f"rubrics/{name}.yaml")


def _known(kind: str, name: str, known_names: list[str], relative: str) -> Path:
    # Checked before the path is built, so a name can never point outside the assets.
    if name not in known_names:
        raise NotFoundError(
            f"There is no shipped {kind} named {name!r}.",
            next_step=f"Choose one of: {', '.join(known_names)}.",
        )
    return ASSETS_DIR / relative
