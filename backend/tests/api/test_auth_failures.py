"""Who sends wrong tokens too often has to wait, and fills no memory."""

from tunix_rt.api.access import MAX_ADDRESSES, MAX_FAILURES, WINDOW_S, AuthFailures


class Clock:
    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


def failed(failures: AuthFailures, address: str, times: int = MAX_FAILURES) -> AuthFailures:
    for _ in range(times):
        failures.add(address)
    return failures


def test_the_wait_ends_with_the_window() -> None:
    clock = Clock()
    failures = failed(AuthFailures(clock), "192.0.2.1", MAX_FAILURES - 1)
    assert failures.wait_s("192.0.2.1") == 0
    failures.add("192.0.2.1")
    assert failures.wait_s("192.0.2.1") == WINDOW_S
    clock.now_s += WINDOW_S - 0.5
    assert failures.wait_s("192.0.2.1") == 1
    clock.now_s += 0.5
    assert failures.wait_s("192.0.2.1") == 0
    failures.add("192.0.2.1")
    assert failures.wait_s("192.0.2.1") == 0


def test_another_address_does_not_wait() -> None:
    failures = failed(AuthFailures(), "192.0.2.1")
    assert failures.wait_s("192.0.2.1") > 0
    assert failures.wait_s("192.0.2.2") == 0


def test_the_addresses_of_one_network_of_ipv6_count_as_one() -> None:
    failures = failed(AuthFailures(), "2001:db8::1")
    assert failures.wait_s("2001:db8::ffff") > 0
    assert failures.wait_s("2001:db8:0:1::1") == 0


def test_no_number_of_addresses_fills_the_memory() -> None:
    failures = failed(AuthFailures(), "first")
    for number in range(MAX_ADDRESSES):
        failures.add(f"client-{number}")
    assert failures.wait_s("first") == 0
    assert len(failures) == MAX_ADDRESSES
