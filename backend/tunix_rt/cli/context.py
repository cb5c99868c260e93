"""What every command needs: the store of this user."""

from collections.abc import Iterator
from contextlib import contextmanager

from tunix_rt.config.settings import load_settings
from tunix_rt.services.store import Store, open_store


@contextmanager
def store() -> Iterator[Store]:
    """The store that the environment names, closed at the end."""
    opened = open_store(load_settings())
    try:
        yield opened
    finally:
        opened.close()
