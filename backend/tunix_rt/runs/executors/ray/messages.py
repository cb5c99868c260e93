"""What both sides send."""

from dataclasses import dataclass, field

from tunix_rt.recipes.types import Recipe
from tunix_rt.runs.executors.base import ChildExit

OUTPUT = "output.log"
"""What the processes of this attempt printed; the only growing file that is not in the run directory."""
LINES = ("events.jsonl", "metrics.jsonl", "log.txt")
"""Files of the run directory that grow line by line."""
CHUNK_BYTES = 8 << 20
"""The most that is said at once of one file."""


@dataclass(frozen=True)
class Assignment:
    """One attempt, as the node gets it. Paths are the node's own business."""

    attempt: int
    command: tuple[str, ...]
    """With RUN_DIR and RECIPE where the paths go."""
    environment: dict[str, str]
    recipe: Recipe
    device: str
    grace_s: float
    silence_s: float
    """How long the worker may say nothing before the node takes it for dead."""
    checkpoint_url: str | None


RUN_DIR = "{run_dir}"
RECIPE = "{recipe}"


@dataclass(frozen=True)
class Place:
    """How far a growing file was read, and which file that was: one that is cut back is another file."""

    inode: int
    offset: int


@dataclass(frozen=True)
class Growth:
    """What a growing file has more than the worker knows."""

    place: Place
    """After it."""
    is_new: bool
    """Whether the file is another one than before: these are its first bytes."""
    data: bytes


Stamp = tuple[int, int, int]
"""Inode, size and time of change: equal as long as nobody has written the file."""


@dataclass(frozen=True)
class ReplicaState:
    """What the worker has of a run."""

    places: dict[str, Place] = field(default_factory=dict)
    stamps: dict[str, Stamp] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """What has happened on the node since the worker asked last. Asking again gives the same."""

    growths: dict[str, Growth]
    files: dict[str, tuple[Stamp, bytes]]
    """Small files at the top of the run directory that are new or were written again."""
    names: frozenset[str]
    """Every file at the top of the run directory."""
    exit: ChildExit | None
    """Set when nothing of the child runs any more, and never before its last byte can be read."""

    @property
    def has_more(self) -> bool:
        """Whether one of the files did not go into this report whole."""
        return any(len(growth.data) >= CHUNK_BYTES for growth in self.growths.values())

    @property
    def is_last(self) -> bool:
        """Whether there is no more to come."""
        return self.exit is not None and not self.growths
