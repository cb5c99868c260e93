"""Models, versions, aliases, tags and notes on both databases."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC

import pytest
from support.evaluated_runs import store_answers
from support.evaluations import make_model
from support.models import new_version

from tunix_rt.base.errors import ConflictError, NotFoundError
from tunix_rt.base.home import Home
from tunix_rt.evaluation.comparison.gate import set_baseline
from tunix_rt.evaluation.comparison.types import GateRule
from tunix_rt.models.store import ModelRepository, baselines_of, evaluations_of
from tunix_rt.models.types import BaseReference, ModelLineage, ModelReference, NewModel, parse_reference


@pytest.fixture
def repository(store: Home) -> ModelRepository:
    return ModelRepository(store.database)


def test_version_round_trips(repository: ModelRepository) -> None:
    lineage = ModelLineage(
        run_id="r1", step=3, dataset="d-v1", base=BaseReference(name="b", weights="random", seed=2)
    )
    new = new_version(lineage=lineage, label="spring", notes="good", tags={"team": "maths"}, markup="think")
    version, is_new = repository.add_version("demo", new)
    assert is_new
    assert {name: getattr(version, name) for name in type(new).model_fields} == dict(new)
    assert (version.model, version.version, version.aliases) == ("demo", 1, ())
    assert version.created_at.tzinfo == UTC
    for text in ("demo", "demo:1", "demo:spring"):
        assert repository.find(parse_reference(text)) == version
    assert repository.version(version.id) == version


def test_equal_content_reuses_version(repository: ModelRepository) -> None:
    first, _ = repository.add_version("demo", new_version("a"))
    assert repository.add_version("demo", new_version("a", notes="again")) == (first, False)
    assert repository.add_version("other", new_version("a"))[1]
    assert repository.add_version("demo", new_version("b"))[0].version == 2


def test_version_numbers_are_never_reused(repository: ModelRepository) -> None:
    repository.add_version("demo", new_version("a"))
    second, _ = repository.add_version("demo", new_version("b"))
    repository.remove_version(second.id)
    assert repository.add_version("demo", new_version("c"))[0].version == 3


def test_concurrent_registrations_get_unique_numbers(repository: ModelRepository) -> None:
    def add(content: str) -> int:
        return repository.add_version("demo", new_version(content))[0].version

    with ThreadPoolExecutor(max_workers=8) as pool:
        numbers = list(pool.map(add, "abcdefabcdef"))
    assert numbers[:6] == numbers[6:]
    assert sorted(numbers[:6]) == [1, 2, 3, 4, 5, 6]


def test_labels_are_unique_per_model(repository: ModelRepository) -> None:
    repository.add_version("demo", new_version("a", label="spring"))
    with pytest.raises(ConflictError, match="demo:1 has the label 'spring'"):
        repository.add_version("demo", new_version("b", label="spring"))
    assert repository.add_version("other", new_version("b", label="spring"))[1]


def test_alias_moves_atomically(repository: ModelRepository) -> None:
    for content in "ab":
        repository.add_version("demo", new_version(content))
    champion = ModelReference("demo", alias="champion")
    with ThreadPoolExecutor(max_workers=2) as pool:
        repository.set_alias(ModelReference("demo", version=1), "champion")

        def move_alias() -> None:
            for number in (2, 1) * 10:
                repository.set_alias(ModelReference("demo", version=number), "champion")

        mover = pool.submit(move_alias)
        seen = set()
        while not mover.done():
            seen.add(repository.find(champion).version)
        mover.result()
    assert seen <= {1, 2}
    assert repository.find(champion).version == 1
    assert repository.get("demo").aliases == {"champion": 1}


def test_aliased_version_cannot_be_removed(repository: ModelRepository) -> None:
    version, _ = repository.add_version("demo", new_version())
    repository.set_alias(ModelReference("demo"), "champion")
    with pytest.raises(ConflictError, match=r"demo:1 has the alias @champion\..*unalias demo@champion"):
        repository.remove_version(version.id)
    repository.remove_alias("demo", "champion")
    repository.remove_version(version.id)
    with pytest.raises(NotFoundError, match="no versions"):
        repository.find(ModelReference("demo"))


def test_tags_and_notes_are_editable(repository: ModelRepository) -> None:
    repository.add_version("demo", new_version(tags={"team": "a"}))
    here = ModelReference("demo")
    repository.set_tag(here, "team", "b")
    assert repository.set_notes(here, "reviewed").tags == {"team": "b"}
    assert repository.remove_tag(here, "team").notes == "reviewed"
    with pytest.raises(NotFoundError, match="no tag 'team'"):
        repository.remove_tag(here, "team")


def test_model_is_created_once(repository: ModelRepository) -> None:
    created = repository.create(NewModel(name="demo", description="sums", task_type="text-generation"))
    assert repository.get("demo") == repository.get(created.id) == created
    with pytest.raises(ConflictError, match="models show demo"):
        repository.create(NewModel(name="demo"))
    repository.add_version("demo", new_version())
    model = repository.get("demo")
    assert (model.num_versions, model.latest_version, model.description) == (1, 1, "sums")
    assert model.updated_at > created.updated_at


def test_list_is_sorted_and_paginated(repository: ModelRepository) -> None:
    for name in "cab":
        repository.create(NewModel(name=name))
    page, total = repository.list(limit=2, offset=1)
    assert ([model.name for model in page], total) == (["b", "c"], 3)


def test_unknown_names_suggest_nearest(repository: ModelRepository) -> None:
    repository.add_version("demo", new_version())
    with pytest.raises(NotFoundError, match="Did you mean 'demo'"):
        repository.find(ModelReference("demmo"))
    with pytest.raises(NotFoundError, match=r"There is no demo@gone.*newest version is 1"):
        repository.find(ModelReference("demo", alias="gone"))


def test_model_with_versions_cannot_be_removed(repository: ModelRepository) -> None:
    version, _ = repository.add_version("demo", new_version())
    with pytest.raises(ConflictError, match="has 1 versions"):
        repository.remove_model("demo")
    repository.remove_version(version.id)
    repository.remove_model("demo")
    assert repository.names() == ()


def test_version_has_evaluations_and_baselines(store: Home, repository: ModelRepository) -> None:
    of_run = repository.add_version("demo", new_version("a", lineage=ModelLineage(run_id="run-a")))[0]
    checkpoint = ModelLineage(run_id="run-a", is_checkpoint=True)
    other = repository.add_version("demo", new_version("b", lineage=checkpoint))[0]
    evaluation = store_answers(store, "run-a", model=make_model("run-a"))
    own = store_answers(store, other.reference)
    set_baseline(store, "main", evaluation, GateRule())
    assert [one.evaluation_id for one in evaluations_of(store.database, of_run)] == [evaluation.evaluation_id]
    assert [one.evaluation_id for one in evaluations_of(store.database, other)] == [own.evaluation_id]
    assert (baselines_of(store.database, of_run), baselines_of(store.database, other)) == (("main",), ())
