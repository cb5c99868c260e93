"""Messages between the worker and a Ray node."""

from dataclasses import dataclass, field

from tunix_rt.recipes.types import Recipe
from tunix_rt.runs.executors.base import ChildExit

OUTPUT = "output.log"
"""Output of the processes of this attempt; the only growing file outside the run directory."""
LINES = ("events.jsonl", "metrics.jsonl", "log.txt")
"""Files of the run directory that grow line by line."""
CHUNK_BYTES = 8 << 20
"""Maximum that one report contains of one file."""


@dataclass(frozen=True)
class Assignment:
    """One attempt, without paths: the node inserts its own."""

    attempt: int
    command: tuple[str, ...]
    """With RUN_DIR and RECIPE in place of paths."""
    environment: dict[str, str]
    recipe: Recipe
    grace_s: float
    worker_timeout_s: float
    """How long the worker may be silent before the node takes it for dead."""
    checkpoint_url: str | None


RUN_DIR = "{run_dir}"
RECIPE = "{recipe}"


@dataclass(frozen=True)
class Position:
    """How far a growing file was read, and its inode: a file that is cut back is another file."""

    inode: int
    offset: int


@dataclass(frozen=True)
class Growth:
    """The part of a growing file that the worker does not have."""

    position: Position
    """After it."""
    is_new: bool
    """Whether the file was replaced: these are its first bytes."""
    data: bytes


Stamp = tuple[int, int, int]
"""Inode, size and modification time: equal as long as the file was not written."""


@dataclass(frozen=True)
class ReplicaState:
    """The state of the replica on the worker."""

    positions: dict[str, Position] = field(default_factory=dict)
    stamps: dict[str, Stamp] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """Everything new on the node. Requesting it again with the same state gives the same."""

    growths: dict[str, Growth]
    files: dict[str, tuple[Stamp, bytes]]
    """Small files at the top of the run directory that are new or were rewritten."""
    names: frozenset[str]
    """Every file at the top of the run directory."""
    exit: ChildExit | None
    """Set when no process of the child is left and its last byte can be read."""

    @property
    def has_more(self) -> bool:
        """Whether a file did not fit into this report."""
        return any(len(growth.data) >= CHUNK_BYTES for growth in self.growths.values())

    @property
    def is_last(self) -> bool:
        """Whether it is the last report."""
        return self.exit is not None and not self.growths
