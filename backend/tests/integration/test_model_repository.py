"""Models, versions, aliases, tags and notes in both databases."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC

import pytest
from support.evaluated_runs import store_answers
from support.evaluations import make_model
from support.models import new_version

from tunix_rt.core.errors import ConflictError, NotFoundError
from tunix_rt.core.evaluation.comparison import GateRule
from tunix_rt.core.models.reference import ModelReference, parse_reference
from tunix_rt.core.models.version import BaseReference, Lineage, NewModel
from tunix_rt.db.model_uses import baselines_of, evaluations_of
from tunix_rt.services.gating import set_baseline
from tunix_rt.services.store import Store


def test_a_version_comes_back_as_it_was_registered(store: Store) -> None:
    lineage = Lineage(
        run_id="r1", step=3, dataset="d-v1", base=BaseReference(name="b", weights="random", seed=2)
    )
    new = new_version(lineage=lineage, label="spring", notes="good", tags={"team": "maths"}, markup="think")
    version, is_new = store.models.add_version("demo", new)
    assert is_new
    assert {name: getattr(version, name) for name in type(new).model_fields} == dict(new)
    assert (version.model, version.version, version.aliases) == ("demo", 1, ())
    assert version.created_at.tzinfo == UTC
    for text in ("demo", "demo:1", "demo:spring"):
        assert store.models.find(parse_reference(text)) == version
    assert store.models.version(version.id) == version


def test_the_same_content_is_the_version_that_is_there(store: Store) -> None:
    first, _ = store.models.add_version("demo", new_version("a"))
    assert store.models.add_version("demo", new_version("a", notes="again")) == (first, False)
    assert store.models.add_version("other", new_version("a"))[1]
    assert store.models.add_version("demo", new_version("b"))[0].version == 2


def test_a_number_is_never_given_out_twice(store: Store) -> None:
    store.models.add_version("demo", new_version("a"))
    second, _ = store.models.add_version("demo", new_version("b"))
    store.models.remove_version(second.id)
    assert store.models.add_version("demo", new_version("c"))[0].version == 3


def test_registering_at_once_gives_every_version_its_own_number(store: Store) -> None:
    def add(content: str) -> int:
        return store.models.add_version("demo", new_version(content))[0].version

    with ThreadPoolExecutor(max_workers=8) as pool:
        numbers = list(pool.map(add, "abcdefabcdef"))
    assert numbers[:6] == numbers[6:]
    assert sorted(numbers[:6]) == [1, 2, 3, 4, 5, 6]


def test_a_label_belongs_to_one_version(store: Store) -> None:
    store.models.add_version("demo", new_version("a", label="spring"))
    with pytest.raises(ConflictError, match="demo:1 has the label 'spring'"):
        store.models.add_version("demo", new_version("b", label="spring"))
    assert store.models.add_version("other", new_version("b", label="spring"))[1]


def test_an_alias_moves_and_always_means_one_version(store: Store) -> None:
    for content in "ab":
        store.models.add_version("demo", new_version(content))
    champion = ModelReference("demo", alias="champion")
    with ThreadPoolExecutor(max_workers=2) as pool:
        store.models.set_alias(ModelReference("demo", version=1), "champion")

        def moved() -> None:
            for number in (2, 1) * 10:
                store.models.set_alias(ModelReference("demo", version=number), "champion")

        moving = pool.submit(moved)
        seen = set()
        while not moving.done():
            seen.add(store.models.find(champion).version)
        moving.result()
    assert seen <= {1, 2}
    assert store.models.find(champion).version == 1
    assert store.models.get("demo").aliases == {"champion": 1}


def test_an_alias_protects_its_version_until_it_is_released(store: Store) -> None:
    version, _ = store.models.add_version("demo", new_version())
    store.models.set_alias(ModelReference("demo"), "champion")
    with pytest.raises(ConflictError, match=r"demo:1 is @champion\..*unalias demo@champion"):
        store.models.remove_version(version.id)
    store.models.remove_alias("demo", "champion")
    store.models.remove_version(version.id)
    with pytest.raises(NotFoundError, match="no versions"):
        store.models.find(ModelReference("demo"))


def test_tags_and_notes_are_replaced_and_taken_off(store: Store) -> None:
    store.models.add_version("demo", new_version(tags={"team": "a"}))
    here = ModelReference("demo")
    store.models.set_tag(here, "team", "b")
    assert store.models.set_notes(here, "reviewed").tags == {"team": "b"}
    assert store.models.remove_tag(here, "team").notes == "reviewed"
    with pytest.raises(NotFoundError, match="no tag 'team'"):
        store.models.remove_tag(here, "team")


def test_a_model_is_created_once_and_found_by_name_and_id(store: Store) -> None:
    created = store.models.create(NewModel(name="demo", description="sums", task_type="text-generation"))
    assert store.models.get("demo") == store.models.get(created.id) == created
    with pytest.raises(ConflictError, match="models show demo"):
        store.models.create(NewModel(name="demo"))
    store.models.add_version("demo", new_version())
    model = store.models.get("demo")
    assert (model.num_versions, model.latest_version, model.description) == (1, 1, "sums")
    assert model.updated_at > created.updated_at


def test_models_are_listed_by_name_with_their_total(store: Store) -> None:
    for name in "cab":
        store.models.create(NewModel(name=name))
    page, total = store.models.list(limit=2, offset=1)
    assert ([model.name for model in page], total) == (["b", "c"], 3)


def test_what_is_not_there_is_an_error_with_the_nearest_name(store: Store) -> None:
    store.models.add_version("demo", new_version())
    with pytest.raises(NotFoundError, match="Did you mean 'demo'"):
        store.models.find(ModelReference("demmo"))
    with pytest.raises(NotFoundError, match=r"There is no demo@gone.*newest version is 1"):
        store.models.find(ModelReference("demo", alias="gone"))


def test_a_model_with_versions_is_not_removed(store: Store) -> None:
    version, _ = store.models.add_version("demo", new_version())
    with pytest.raises(ConflictError, match="has 1 versions"):
        store.models.remove_model("demo")
    store.models.remove_version(version.id)
    store.models.remove_model("demo")
    assert store.models.names() == ()


def test_evaluations_and_baselines_of_a_version_are_found(store: Store) -> None:
    of_run = store.models.add_version("demo", new_version("a", lineage=Lineage(run_id="run-a")))[0]
    checkpoint = Lineage(run_id="run-a", is_checkpoint=True)
    other = store.models.add_version("demo", new_version("b", lineage=checkpoint))[0]
    evaluation = store_answers(store, "run-a", model=make_model("run-a"))
    own = store_answers(store, other.reference)
    set_baseline(store, "main", evaluation, GateRule())
    assert [one.evaluation_id for one in evaluations_of(store.engine, of_run)] == [evaluation.evaluation_id]
    assert [one.evaluation_id for one in evaluations_of(store.engine, other)] == [own.evaluation_id]
    assert (baselines_of(store.engine, of_run), baselines_of(store.engine, other)) == (("main",), ())
