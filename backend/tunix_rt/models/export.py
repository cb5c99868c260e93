"""Export a version as merged model, adapter or zip, and check that it is still the same model."""

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
from tunix_rt.base.files.copies import CHUNK_BYTES, copy_file, file_digest, stream_zip
from tunix_rt.base.home import Home
from tunix_rt.engines.export import ExportingEngine, RequestedFormat
from tunix_rt.engines.generation.base import GeneratingEngine, Generator, GeneratorRequest, Prompt
from tunix_rt.engines.types import Decoding, DeviceRequest
from tunix_rt.models.card import card_of
from tunix_rt.models.files import ModelStore
from tunix_rt.models.find import find_model
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
    build_tree,
)
from tunix_rt.recipes.types import ModelSection

REPORT_FILE = "tunix_rt_export.json"
CARD_FILE = "README.md"
OTHER_CARD_FILE = "TUNIX_RT_CARD.md"
"""Name of the card for a model that has a README.md of its own."""

OnStage = Callable[[str], None]
"""Receives a description of each stage."""


@dataclass(frozen=True)
class ExportRequest:
    """What to export, and how."""

    version: ModelVersion
    form: ExportForm
    output: Path
    """New directory or, for a zip, new file."""
    dtype: RequestedFormat = "auto"
    """Format of merged weights. auto: that of the base model."""
    device: DeviceRequest = field(default_factory=DeviceRequest)


def require_exportable(request: ExportRequest) -> None:
    """Refuse an impossible export before anything is loaded.

    Raises:
        ConflictError: The output exists.
        InvalidInputError: A whole model cannot be exported as an adapter.
    """
    if request.output.exists():
        raise ConflictError(
            f"{request.output} already exists.", next_step="Choose another --output, or remove it first."
        )
    require_form(request.version, request.form)


def require_form(version: ModelVersion, form: ExportForm) -> None:
    """Refuse to export a whole model as an adapter.

    Raises:
        InvalidInputError: The version is a whole model.
    """
    if form == "adapter" and version.kind != "adapter":
        raise InvalidInputError(
            f"{version.reference} is a whole model, not an adapter.",
            next_step="Export it with --as merged or --as zip.",
        )


def export_zip(home: Home, request: ExportRequest) -> ExportReport:
    """Write the archive, verify it, and write the report next to it.

    Raises:
        ConflictError: The output exists.
        DataError: A file of the version is damaged.
    """
    require_exportable(request)
    with write_atomically(request.output, what="writing the archive") as file:
        file.writelines(zip_chunks(home, request.version))
    tree = ModelStore(home.settings.models_dir).tree(request.version.content_hash)
    found = []
    with storage_errors("reading the archive"), zipfile.ZipFile(request.output) as archive:
        for entry in archive.infolist():
            if entry.filename != card_name(tree):
                with archive.open(entry) as content:
                    digest = hashlib.file_digest(content, "sha256").hexdigest()  # type: ignore[arg-type]
                found.append(ModelFile(path=entry.filename, size_bytes=entry.file_size, sha256=digest))
    report = _report(request, tree, build_tree(found), tokens=None)
    report_path = request.output.with_name(f"{request.output.name}.{REPORT_FILE}")
    write_json_atomically(report_path, report.to_json(), what="writing the report")
    return report


def export_directory(
    home: Home, engine: ExportingEngine, request: ExportRequest, on_stage: OnStage
) -> ExportReport:
    """Write a model or adapter for other programs, and compare its greedy tokens with the registered model's.

    An export with different tokens is kept; `passed` is false in its report.

    Raises:
        ConflictError: The output exists, or another engine is needed.
        InvalidInputError: A whole model cannot be exported as an adapter.
        DataError: A file of the version is damaged.
    """
    require_exportable(request)
    found = find_model(home.settings, request.version.reference)
    found.require_engine(engine.name)
    registered = GeneratorRequest(
        found.section, adapter=found.adapter, seed=found.seed, device=request.device, markup=found.markup
    )
    files = ModelStore(home.settings.models_dir)
    tree = files.tree(request.version.content_hash)
    if request.form == "merged" and found.adapter is not None:
        on_stage("merging the adapter into its base")
        engine.merge_adapter(registered, request.output, request.dtype)
    else:
        on_stage("copying the files")
        with write_directory_atomically(request.output, what="exporting the model") as target:
            for file in tree.files:
                (target / file.path).parent.mkdir(parents=True, exist_ok=True)
                with (target / file.path).open("xb") as copy:
                    copy_file(files.blob(file.sha256), copy)
    tokens = compare_tokens(engine, registered, _exported_request(registered, request), on_stage)
    exported = _tree_of_directory(request.output)
    report = _report(request, tree, exported, tokens=tokens)
    card = card_of(home, request.version, kind="model" if request.form == "merged" else "adapter")
    with write_atomically(request.output / card_name(exported), what="writing the model card") as readme:
        readme.write(card.encode())
    # Completion last: a directory with a report is a complete export.
    write_json_atomically(request.output / REPORT_FILE, report.to_json(), what="writing the report")
    return report


def _exported_request(registered: GeneratorRequest, request: ExportRequest) -> GeneratorRequest:
    """The same request for the exported files."""
    directory = str(request.output)
    if request.form == "merged":
        return replace(registered, model=ModelSection(name=directory), adapter=None)
    tokenizer = None if registered.model.tokenizer is None else directory
    section = registered.model.model_copy(update={"tokenizer": tokenizer})
    return replace(registered, model=section, adapter=request.output)


def _report(
    request: ExportRequest, tree: ModelTree, exported: ModelTree, *, tokens: TokenParity | None
) -> ExportReport:
    return ExportReport(
        version=request.version.reference,
        content_hash=request.version.content_hash,
        kind=request.version.kind,
        form=request.form,
        created_at=datetime.now(UTC),
        tunix_rt_version=__version__,
        files=exported.files,
        is_same_bytes=exported == tree,
        tokens=tokens,
        passed=exported == tree if tokens is None else not tokens.differing,
    )


def _tree_of_directory(directory: Path) -> ModelTree:
    return build_tree(
        [
            ModelFile(
                path=path.relative_to(directory).as_posix(),
                size_bytes=path.stat().st_size,
                sha256=file_digest(path),
            )
            for path in directory.rglob("*")
            if path.is_file()
        ]
    )


def zip_chunks(home: Home, version: ModelVersion) -> Iterator[bytes]:
    """The chunks of the archive: the card and every file of the version.

    Raises:
        DataError: Immediately if a file is missing or has another size, or before the end of the archive if
            its bytes differ. A complete archive is therefore intact.
    """
    files = ModelStore(home.settings.models_dir)
    tree = files.tree(version.content_hash)
    files.require_blobs(tree)
    card = (card_name(tree), [card_of(home, version).encode()])
    return stream_zip(chain([card], ((file.path, _checked_chunks(files, file)) for file in tree.files)))


def card_name(tree: ModelTree) -> str:
    """File name of the card next to the model's own files."""
    return OTHER_CARD_FILE if any(file.path == CARD_FILE for file in tree.files) else CARD_FILE


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


def compare_tokens(
    engine: GeneratingEngine, registered: GeneratorRequest, exported: GeneratorRequest, on_stage: OnStage
) -> TokenParity:
    """Generate with both models, loading one at a time.

    Raises:
        TunixRTError: One of them cannot be loaded or cannot generate.
    """
    on_stage("generating with the registered model")
    generator = engine.open_generator(registered)
    # Both in the same precision, whatever would be chosen for each.
    same = replace(exported, precision=generator.precision)
    device, precision = generator.device, generator.precision
    before = _greedy_tokens(generator)
    del generator
    on_stage("generating with the exported model")
    after = _greedy_tokens(engine.open_generator(same))
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


def _greedy_tokens(generator: Generator) -> Sequence[tuple[int, ...]]:
    encode = generator.encoder.encode_prompt
    prompts = [Prompt(text, encode(text)) for text in PARITY_PROMPTS]
    tokens: dict[str, tuple[int, ...]] = {}
    for finished in generator.generate(prompts, Decoding(max_new_tokens=NUM_PARITY_TOKENS)):
        for written in finished:
            if written.failure is not None:
                raise TunixRTError(
                    f"The model cannot answer {written.prompt.key!r}: {written.detail or written.failure}",
                    next_step="The comparison needs every answer: try another --device or --dtype.",
                )
            tokens[written.prompt.key] = written.token_ids
    return [tokens[text] for text in PARITY_PROMPTS]
