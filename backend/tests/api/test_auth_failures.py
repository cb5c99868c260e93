"""Addresses that send too many invalid tokens must wait, and tracking them takes bounded memory."""

from tunix_rt.api.access import MAX_ADDRESSES, MAX_FAILURES, WINDOW_S, AuthFailures


class Clock:
    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


def add_failures(failures: AuthFailures, address: str, times: int = MAX_FAILURES) -> AuthFailures:
    for _ in range(times):
        failures.add(address)
    return failures


def test_wait_ends_with_the_window() -> None:
    clock = Clock()
    failures = add_failures(AuthFailures(clock), "192.0.2.1", MAX_FAILURES - 1)
    assert failures.wait_s("192.0.2.1") == 0
    failures.add("192.0.2.1")
    assert failures.wait_s("192.0.2.1") == WINDOW_S
    clock.now_s += WINDOW_S - 0.5
    assert failures.wait_s("192.0.2.1") == 1
    clock.now_s += 0.5
    assert failures.wait_s("192.0.2.1") == 0
    failures.add("192.0.2.1")
    assert failures.wait_s("192.0.2.1") == 0


def test_other_addresses_do_not_wait() -> None:
    failures = add_failures(AuthFailures(), "192.0.2.1")
    assert failures.wait_s("192.0.2.1") > 0
    assert failures.wait_s("192.0.2.2") == 0


def test_ipv6_network_counts_as_one_address() -> None:
    failures = add_failures(AuthFailures(), "2001:db8::1")
    assert failures.wait_s("2001:db8::ffff") > 0
    assert failures.wait_s("2001:db8:0:1::1") == 0


def test_number_of_tracked_addresses_is_bounded() -> None:
    failures = add_failures(AuthFailures(), "first")
    for number in range(MAX_ADDRESSES):
        failures.add(f"client-{number}")
    assert failures.wait_s("first") == 0
    assert len(failures) == MAX_ADDRESSES
