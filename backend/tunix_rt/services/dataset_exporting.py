"""Write a dataset for other tools: one file, or a directory with a card beside the splits."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal

from pydantic import BaseModel, ConfigDict

from tunix_rt.base.errors import ConflictError
from tunix_rt.base.files.atomic import storage_errors, write_atomically
from tunix_rt.core.dataset_card import dataset_card
from tunix_rt.files.dataset_dirs import CARD_FILE
from tunix_rt.services.datasets import chosen_split, get_dataset, iter_rows
from tunix_rt.traces.export import export_file

ExportFormat = Literal[
    "trace", "messages", "prompt_completion", "sharegpt", "alpaca", "tunix_sft", "training_example"
]
ExportFileType = Literal["jsonl", "parquet"]


class DatasetExport(BaseModel):
    """What was written."""

    model_config = ConfigDict(frozen=True)
    dataset_key: str
    export_format: str
    rows_by_file: dict[str, int]


def export_directory(
    datasets_dir: Path,
    key: str,
    directory: Path,
    *,
    split: str | None,
    export_format: ExportFormat,
    file_type: ExportFileType,
) -> DatasetExport:
    """Write one file a split and the dataset card, ready for the Hugging Face hub.

    Raises:
        ConflictError: the directory holds files already.
    """
    manifest = get_dataset(datasets_dir, key)
    splits = manifest.splits if split is None else (chosen_split(manifest, split),)
    _require_empty(directory)
    rows_by_file = {}
    for part in splits:
        path = directory / f"{part.name}.{file_type}"
        report = export_file(iter_rows(datasets_dir, key, part.name), path, export_format)
        rows_by_file[path.name] = report.num_exported
    card = dataset_card(manifest.model_copy(update={"splits": splits}), file_suffix=file_type)
    with write_atomically(directory / CARD_FILE, what="writing the dataset card") as file:
        file.write(card.encode("utf-8"))
    return DatasetExport(dataset_key=key, export_format=export_format, rows_by_file=rows_by_file)


def open_export(
    datasets_dir: Path,
    key: str,
    *,
    split: str | None,
    export_format: ExportFormat,
    file_type: ExportFileType,
) -> IO[bytes]:
    """The whole export as an open file without a name; a row that does not fit the format raises here.

    The caller closes it. Nothing is left behind, even if the process is killed.
    """
    with _nameless_folder() as folder:
        path = folder / f"export.{file_type}"
        export_file(iter_rows(datasets_dir, key, split), path, export_format)
        return path.open("rb")


@contextmanager
def _nameless_folder() -> Iterator[Path]:
    with storage_errors("writing the export"), tempfile.TemporaryDirectory(prefix="tunix-rt-") as folder:
        yield Path(folder)


def _require_empty(directory: Path) -> None:
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise ConflictError(
            f"{directory} is there already and not an empty directory.",
            next_step="Name a new directory; an export never overwrites.",
        )
