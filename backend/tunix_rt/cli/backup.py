"""`tunix-rt backup` and `tunix-rt restore`: everything that is kept, in one file."""

from pathlib import Path
from typing import Annotated

import typer

from tunix_rt.base.home import opened_home
from tunix_rt.base.settings import load_settings
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import counted, err, print_json, say
from tunix_rt.core.backup import BackupManifest
from tunix_rt.services.backup import make_backup
from tunix_rt.services.restoring import restore_backup

BackupFile = Annotated[Path, typer.Argument(metavar="FILE", help="The backup: a zip file.")]
WithCheckpoints = Annotated[
    bool, typer.Option("--with-checkpoints", help="Keep what unfinished runs go on from; it may be large.")
]
HomeOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Home to restore into. Default: TUNIX_RT_HOME.")
]


def backup(file: BackupFile, with_checkpoints: WithCheckpoints = False, as_json: JsonFlag = False) -> None:
    """Write database and home into one file, while everything goes on. docs/operations.md explains it."""
    with opened_home() as opened, err.status("reading the database") as status:
        manifest = make_backup(opened, file, with_checkpoints=with_checkpoints, on_file=status.update)
    _report(manifest, f"{file} holds", as_json=as_json)


def restore(file: BackupFile, home: HomeOption = None, as_json: JsonFlag = False) -> None:
    """Put a backup into an empty home and an empty database of either kind; every hash is checked."""
    settings = load_settings()
    if home is not None:
        settings = settings.model_copy(update={"home": home})
    with err.status("checking the backup") as status:
        manifest = restore_backup(settings, file, on_file=status.update)
    _report(manifest, f"{settings.home_dir} has got", as_json=as_json)


def _report(manifest: BackupManifest, what: str, *, as_json: bool) -> None:
    if as_json:
        print_json(manifest.to_json())
        return
    tables = f"{counted(manifest.num_rows, 'row')} of {counted(len(manifest.tables), 'table')}"
    files = f"{counted(len(manifest.files), 'file')}, {manifest.size_bytes / 2**20:,.1f} MiB"
    say(f"{what} {tables} and {files}.")
    if not manifest.has_checkpoints:
        say("Checkpoints are not among them: an unfinished run would begin anew.")
