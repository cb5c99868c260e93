"""Merged, adapter or zip, with proof that it writes the same tokens."""

import hashlib
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from tunix_rt import __version__
from tunix_rt.base.errors import ConflictError, DataError, InvalidInputError, TunixRTError
from tunix_rt.base.files.atomic import (
    storage_errors,
    write_atomically,
    write_directory_atomically,
    write_json_atomically,
)
from tunix_rt.base.files.copies import CHUNK_BYTES, copy_file, file_digest, stream_digest, stream_zip
from tunix_rt.base.home import Home
from tunix_rt.engines.export import AskedFormat, ExportingEngine
from tunix_rt.engines.generation.base import GeneratingEngine, Generator, GeneratorRequest, Prompt
from tunix_rt.engines.types import Decoding, DeviceRequest
from tunix_rt.models.card import card_of
from tunix_rt.models.files import ModelStore
from tunix_rt.models.find import ModelToEvaluate, find_model
from tunix_rt.models.register import model_store
from tunix_rt.models.types import (
    NUM_PARITY_TOKENS,
    PARITY_PROMPTS,
    ExportForm,
    ExportReport,
    ModelFile,
    ModelTree,
    ModelVersion,
    PromptParity,
    TokenParity,
    tree_of,
)
from tunix_rt.recipes.types import ModelSection

OnStage = Callable[[str], None]
"""Told what is being done."""


def compare_tokens(
    engine: GeneratingEngine, registered: GeneratorRequest, exported: GeneratorRequest, on_stage: OnStage
) -> TokenParity:
    """Ask both models the same; one of them is in memory at a time.

    Raises:
        TunixRTError: One of them cannot be loaded, or cannot write.
    """
    on_stage("asking the registered model")
    generator = engine.open_generator(registered)
    # Both in the same format, whatever would be chosen for each.
    same = replace(exported, precision=generator.precision)
    device, precision = generator.device, generator.precision
    before = _written(generator)
    del generator
    on_stage("asking the exported model")
    after = _written(engine.open_generator(same))
    return TokenParity(
        engine=engine.name,
        device=device,
        precision=precision,
        max_new_tokens=NUM_PARITY_TOKENS,
        prompts=tuple(
            PromptParity(prompt=prompt, registered=one, exported=other)
            for prompt, one, other in zip(PARITY_PROMPTS, before, after, strict=True)
        ),
    )


def _written(generator: Generator) -> Sequence[tuple[int, ...]]:
    encode = generator.encoder.encode_prompt
    prompts = [Prompt(text, encode(text)) for text in PARITY_PROMPTS]
    tokens: dict[str, tuple[int, ...]] = {}
    for finished in generator.write(prompts, Decoding(max_new_tokens=NUM_PARITY_TOKENS)):
        for written in finished:
            if written.failure is not None:
                raise TunixRTError(
                    f"The model cannot answer {written.prompt.key!r}: {written.detail or written.failure}",
                    next_step="Without an answer there is no parity: try another --device or --dtype.",
                )
            tokens[written.prompt.key] = written.token_ids
    return [tokens[text] for text in PARITY_PROMPTS]


CARD_FILE = "README.md"
OTHER_CARD_FILE = "TUNIX_RT_CARD.md"
"""Where a model brings a card of its own."""


def zip_chunks(home: Home, version: ModelVersion) -> Iterator[bytes]:
    """The pieces of the archive: every file of the version, and its card.

    Raises:
        DataError: At once when a file is missing or has another size; before the end of the archive when one
            has other bytes. An archive that has an end is whole.
    """
    files = model_store(home.settings)
    tree = files.tree(version.content_hash)
    files.require_blobs(tree)
    return _pieces(files, tree, card_of(home, version))


def card_name(tree: ModelTree) -> str:
    """The name of the card beside the model's own files."""
    return OTHER_CARD_FILE if any(file.path == CARD_FILE for file in tree.files) else CARD_FILE


def archived_tree(path: Path, tree: ModelTree) -> ModelTree:
    """What an archive of `tree` really holds besides the card, read back from the disk."""
    found = []
    with storage_errors("reading the archive"), zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            if entry.filename != card_name(tree):
                with archive.open(entry) as file:
                    digest = stream_digest(file)
                found.append(ModelFile(path=entry.filename, size_bytes=entry.file_size, sha256=digest))
    return tree_of(found)


def _pieces(files: ModelStore, tree: ModelTree, card: str) -> Iterator[bytes]:
    entries = ((file.path, _checked_chunks(files, file)) for file in tree.files)
    return stream_zip(chain([(card_name(tree), [card.encode()])], entries))


def _checked_chunks(files: ModelStore, file: ModelFile) -> Iterator[bytes]:
    digest = hashlib.sha256()
    with files.blob(file.sha256).open("rb") as blob:
        while chunk := blob.read(CHUNK_BYTES):
            digest.update(chunk)
            yield chunk
    if digest.hexdigest() != file.sha256:
        raise DataError(
            f"The model store is damaged: {file.path} is not what was registered.",
            next_step="Register the same model again, or restore the store from a backup.",
        )


REPORT_FILE = "tunix_rt_export.json"


@dataclass(frozen=True)
class ExportRequest:
    """What is exported, and how."""

    version: ModelVersion
    form: ExportForm
    output: Path
    """A directory that is not there yet; of a zip, the file."""
    dtype: AskedFormat = "auto"
    """Of merged weights. auto: as the base model has them."""
    device: DeviceRequest = field(default_factory=DeviceRequest)


def require_possible(request: ExportRequest) -> None:
    """Refuse what cannot be exported like that, before anything is loaded.

    Raises:
        ConflictError: There is something at the output.
        InvalidInputError: A whole model has no adapter.
    """
    if request.output.exists():
        raise ConflictError(
            f"{request.output} is there already.", next_step="Choose another --output, or remove it first."
        )
    require_form(request.version, request.form)


def require_form(version: ModelVersion, form: ExportForm) -> None:
    """Refuse a form that the version cannot have.

    Raises:
        InvalidInputError: A whole model has no adapter.
    """
    if form == "adapter" and version.kind != "adapter":
        raise InvalidInputError(
            f"{version.reference} is a whole model, not an adapter.",
            next_step="Export it with --as merged or --as zip.",
        )


def export_zip(home: Home, request: ExportRequest) -> ExportReport:
    """Write the archive and read it back; the report lies beside it.

    Raises:
        ConflictError: There is something at the output.
        DataError: A file of the version is damaged.
    """
    require_possible(request)
    with write_atomically(request.output, what="writing the archive") as file:
        file.writelines(zip_chunks(home, request.version))
    tree = model_store(home.settings).tree(request.version.content_hash)
    found = archived_tree(request.output, tree)
    report = _report(request, found.files, is_same_bytes=found == tree, tokens=None)
    beside = request.output.with_name(f"{request.output.name}.{REPORT_FILE}")
    write_json_atomically(beside, report.to_json(), what="writing the report")
    return report


def export_directory(
    home: Home, engine: ExportingEngine, request: ExportRequest, on_stage: OnStage
) -> ExportReport:
    """Write a model or adapter that other programs load, and ask it what the registered one is asked.

    What does not write the same tokens stays where it is, with a report that says so: `passed` is false.

    Raises:
        ConflictError: There is something at the output, or another engine is needed.
        InvalidInputError: A whole model has no adapter.
        DataError: A file of the version is damaged.
    """
    require_possible(request)
    found = find_model(home.settings, request.version.reference)
    found.require_engine(engine.name)
    registered = _asked(found, request)
    if request.form == "merged" and found.adapter is not None:
        on_stage("merging the adapter into its base")
        engine.merge_adapter(registered, request.output, request.dtype)
    else:
        on_stage("copying the files")
        _copy(home, request)
    exported = _asked_of_export(registered, request)
    tokens = compare_tokens(engine, registered, exported, on_stage)
    return _finished(home, request, tokens)


def _copy(home: Home, request: ExportRequest) -> None:
    files = model_store(home.settings)
    tree = files.tree(request.version.content_hash)
    with write_directory_atomically(request.output, what="exporting the model") as target:
        for file in tree.files:
            (target / file.path).parent.mkdir(parents=True, exist_ok=True)
            with (target / file.path).open("xb") as copy:
                copy_file(files.blob(file.sha256), copy)


def _asked(found: ModelToEvaluate, request: ExportRequest) -> GeneratorRequest:
    return GeneratorRequest(
        found.section, adapter=found.adapter, seed=found.seed, device=request.device, markup=found.markup
    )


def _asked_of_export(registered: GeneratorRequest, request: ExportRequest) -> GeneratorRequest:
    """The same question to the export, with everything that lies in it."""
    directory = str(request.output)
    if request.form == "merged":
        return replace(registered, model=ModelSection(name=directory), adapter=None)
    tokenizer = None if registered.model.tokenizer is None else directory
    section = registered.model.model_copy(update={"tokenizer": tokenizer})
    return replace(registered, model=section, adapter=request.output)


def _finished(home: Home, request: ExportRequest, tokens: TokenParity) -> ExportReport:
    tree = model_store(home.settings).tree(request.version.content_hash)
    found = _tree_of_directory(request.output)
    report = _report(request, found.files, is_same_bytes=found == tree, tokens=tokens)
    card = card_of(home, request.version, kind="model" if request.form == "merged" else "adapter")
    with write_atomically(request.output / card_name(found), what="writing the model card") as file:
        file.write(card.encode())
    # Last: a directory with a report is a complete export.
    write_json_atomically(request.output / REPORT_FILE, report.to_json(), what="writing the report")
    return report


def _report(
    request: ExportRequest, files: tuple[ModelFile, ...], *, is_same_bytes: bool, tokens: TokenParity | None
) -> ExportReport:
    return ExportReport(
        version=request.version.reference,
        content_hash=request.version.content_hash,
        kind=request.version.kind,
        form=request.form,
        created_at=datetime.now(UTC),
        tunix_rt_version=__version__,
        files=files,
        is_same_bytes=is_same_bytes,
        tokens=tokens,
        passed=is_same_bytes if tokens is None else not tokens.differing,
    )


def _tree_of_directory(directory: Path) -> ModelTree:
    paths = [path for path in directory.rglob("*") if path.is_file()]
    return tree_of(
        [
            ModelFile(
                path=path.relative_to(directory).as_posix(),
                size_bytes=path.stat().st_size,
                sha256=file_digest(path),
            )
            for path in paths
        ]
    )
