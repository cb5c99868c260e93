"""Repositories of the store, once per database."""

import pytest

from tunix_rt.base.home import Home
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.store.workers import FlagRepository, WorkerRepository
from tunix_rt.runs.tasks.store import TaskRepository


@pytest.fixture
def runs(store: Home) -> RunRepository:
    return RunRepository(store.database)


@pytest.fixture
def workers(store: Home) -> WorkerRepository:
    return WorkerRepository(store.database)


@pytest.fixture
def flags(store: Home) -> FlagRepository:
    return FlagRepository(store.database)


@pytest.fixture
def tasks(store: Home) -> TaskRepository:
    return TaskRepository(store.database)
