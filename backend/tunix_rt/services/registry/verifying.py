"""Read registered versions to the last byte and compare with what was registered."""

from collections.abc import Iterable, Iterator

from tunix_rt.base.errors import DataError
from tunix_rt.base.home import Home
from tunix_rt.base.records import Record
from tunix_rt.core.models.version import ModelVersion
from tunix_rt.files.model_store import ModelStore
from tunix_rt.services.registry.registering import model_store


class VersionVerdict(Record):
    """Whether the files of a version are what was registered."""

    version: str
    content_hash: str
    size_bytes: int
    problems: tuple[str, ...]
    """What is wrong, by file; empty when nothing is."""


def verify_versions(home: Home, versions: Iterable[ModelVersion]) -> Iterator[VersionVerdict]:
    """One verdict a version, as it is reached."""
    files = model_store(home.settings)
    for version in versions:
        yield VersionVerdict(
            version=version.reference,
            content_hash=version.content_hash,
            size_bytes=version.size_bytes,
            problems=tuple(_problems(files, version)),
        )


def _problems(files: ModelStore, version: ModelVersion) -> list[str]:
    try:
        return files.problems(files.tree(version.content_hash))
    except DataError as error:
        return [error.detail]
