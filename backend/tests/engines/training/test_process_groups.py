"""Process groups read from the environment of torchrun, and their validation."""

import pytest

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.training.job import ProcessGroup, coordinator_address, processes_of_torchrun

TORCHRUN = {"MASTER_ADDR": "10.0.0.2", "MASTER_PORT": "29500", "RANK": "1", "WORLD_SIZE": "4"}


def test_torchrun_environment_is_parsed() -> None:
    assert processes_of_torchrun(TORCHRUN) == ProcessGroup("10.0.0.2:29500", 4, 1)


@pytest.mark.parametrize("environ", [{}, TORCHRUN | {"WORLD_SIZE": "1"}, {"RANK": "0", "WORLD_SIZE": "2"}])
def test_no_group_without_peers_or_address(environ: dict[str, str]) -> None:
    assert processes_of_torchrun(environ) is None


def test_address_splits_into_host_and_port() -> None:
    assert coordinator_address(ProcessGroup("10.0.0.2:8476", 2, 0)) == ("10.0.0.2", 8476)


@pytest.mark.parametrize("process_id", [-1, 2])
def test_process_id_outside_group_is_rejected(process_id: int) -> None:
    with pytest.raises(InvalidInputError, match="does not exist in a run of 2"):
        coordinator_address(ProcessGroup("10.0.0.2:8476", 2, process_id))
