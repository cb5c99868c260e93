"""Files of a model on the Hugging Face Hub, with errors that say what to do."""

import re
from pathlib import Path

from tunix_rt.core.errors import InvalidInputError, NotFoundError, TunixRTError

TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
)

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def is_hub_id(text: str) -> bool:
    """Whether `text` has the form `owner/name`."""
    return _HUB_ID.fullmatch(text) is not None and ".." not in text and len(text) <= 96


def download_files(hub_id: str, patterns: tuple[str, ...], *, online: bool = True) -> Path:
    """The local directory that holds the named files of a hub repository; cached ones are not fetched again.

    Without `online` only the cache is asked.

    Raises:
        NotFoundError: The hub does not know the repository.
        InvalidInputError: The repository is gated, or the hub cannot be reached.
    """
    # Imported here: nothing else needs it, and it is slow to import.
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(hub_id, allow_patterns=list(patterns), local_files_only=not online))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        raise _explained(hub_id, error) from error


def _explained(hub_id: str, error: Exception) -> TunixRTError:
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    if isinstance(error, GatedRepoError):
        return InvalidInputError(
            f"{hub_id} is gated: its licence must be accepted first.",
            next_step=f"Accept it at https://huggingface.co/{hub_id}, then set HF_TOKEN.",
        )
    if isinstance(error, RepositoryNotFoundError):
        return NotFoundError(
            f"The Hugging Face Hub has no repository {hub_id} that you may see.",
            next_step="Check the spelling; for a private repository set HF_TOKEN.",
        )
    return InvalidInputError(
        f"{hub_id} is not in the local cache and the hub cannot be reached ({type(error).__name__}).",
        next_step="Connect to the internet and unset HF_HUB_OFFLINE, or pass a local directory "
        "or the built-in model 'tiny'.",
    )
