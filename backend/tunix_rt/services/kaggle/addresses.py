"""Addresses of notebooks on Kaggle."""

import re

from tunix_rt.base.errors import InvalidInputError

_KERNEL = re.compile(r"[\w-]+/[a-z0-9][a-z0-9-]{4,49}")


def slug_of(kernel: str) -> str:
    """The second half of `owner/slug`.

    Raises:
        InvalidInputError: It is not the address of a notebook.
    """
    if not _KERNEL.fullmatch(kernel):
        raise InvalidInputError(
            f"{kernel!r} is not the address of a notebook.",
            next_step="Write OWNER/SLUG: small letters, digits and dashes, five at least, as in its address.",
        )
    return kernel.partition("/")[2]
