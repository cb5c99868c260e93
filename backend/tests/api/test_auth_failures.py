"""Sources of too many invalid tokens are limited, and tracking them takes bounded memory."""

from tunix_rt.api.access import MAX_FAILURES, MAX_SOURCES, WINDOW_S, AuthFailures, failure_sources


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


def test_any_limited_source_waits() -> None:
    failures = add_failures(AuthFailures(), "a")
    assert failures.wait_s("b", "a") > 0
    assert failures.wait_s("b", "c") == failures.wait_s() == 0


def test_ipv6_network_counts_as_one_address() -> None:
    def sources(address: str) -> tuple[str, ...]:
        return failure_sources(address, "trt_3f9c2a11_secret", is_forwarded=False)

    assert sources("2001:db8::1") == sources("2001:db8::ffff")
    assert sources("2001:db8::1") != sources("2001:db8:0:1::1")


def test_sources_hold_no_secret() -> None:
    sources = failure_sources("192.0.2.1", "trt_3f9c2a11_secret", is_forwarded=True)
    assert sources == ("address 192.0.2.1", "prefix trt_3f9c2a11", "forwarded")


def test_number_of_tracked_sources_is_bounded() -> None:
    failures = add_failures(AuthFailures(), "first")
    for number in range(MAX_SOURCES):
        failures.add(f"client-{number}")
    assert failures.wait_s("first") == 0
    assert len(failures) == MAX_SOURCES
