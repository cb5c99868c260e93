"""The entries of an archive from elsewhere: which of them may be read, and what is wrong with the others."""

import stat
import zipfile
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from tunix_rt.core.evidence.manifest import EVIDENCE_FILE

MAX_RATIO = 100
"""How many times its own size an archive may unpack to, once that is more than `FREE_BYTES`."""
FREE_BYTES = 1 << 30
_ENCRYPTED = 0x1
_WINDOWS_DRIVE = 2


@dataclass
class ZipContents:
    """What an archive announces."""

    files: dict[str, zipfile.ZipInfo] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def read_entries(archive: zipfile.ZipFile, archive_bytes: int, *, max_files: int) -> ZipContents:
    """The plain files by their paths in the bundle, judged by the list of entries alone."""
    entries = archive.infolist()
    if len(entries) > max_files:
        return ZipContents(problems=[f"there are more than {max_files:,} entries"])
    if problem := _bomb(entries, archive_bytes):
        return ZipContents(problems=[problem])
    contents = ZipContents()
    folder = _common_folder([entry.filename for entry in entries])
    for entry in entries:
        problem = _problem(entry)
        path = entry.filename.removeprefix(folder)
        if problem is None and path in contents.files:
            problem = "is there twice"
        if problem is not None:
            contents.problems.append(f"the entry {entry.filename!r} {problem}")
        elif not entry.is_dir():
            contents.files[path] = entry
    return contents


def _bomb(entries: list[zipfile.ZipInfo], archive_bytes: int) -> str | None:
    unpacked = sum(entry.file_size for entry in entries)
    if sum(entry.compress_size for entry in entries) > archive_bytes:
        return "its entries overlap: it is a zip bomb"
    if unpacked > max(FREE_BYTES, MAX_RATIO * archive_bytes):
        return f"{archive_bytes:,} bytes unpack to {unpacked:,}: it is a zip bomb"
    return None


def _problem(entry: zipfile.ZipInfo) -> str | None:
    path = PurePosixPath(entry.filename)
    if entry.filename.startswith("/") or "\\" in entry.filename or path.parts[0][1:_WINDOWS_DRIVE] == ":":
        return "is an absolute path or one of another system"
    if ".." in path.parts or "\x00" in entry.orig_filename:
        return "leads out of the bundle"
    mode = entry.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is a link or a device, no plain file"
    if entry.flag_bits & _ENCRYPTED:
        return "is encrypted"
    return None


def _common_folder(names: list[str]) -> str:
    """`run-1/` where somebody packed the directory itself; nothing where its files are at the top."""
    if EVIDENCE_FILE in names:
        return ""
    folders = {name.split("/")[0] for name in names if "/" in name}
    folder = f"{min(folders)}/" if len(folders) == 1 else ""
    return folder if f"{folder}{EVIDENCE_FILE}" in names else ""
