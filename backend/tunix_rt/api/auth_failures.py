"""Who sends wrong tokens too often has to wait."""

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

MAX_FAILURES = 10
WINDOW_S = 60.0
MAX_ADDRESSES = 10_000
"""How many addresses are remembered: an attacker with more of them fills no memory."""
_IPV6_NETWORK_BITS = 64
"""One customer of an internet provider has so many addresses: they count as one."""


@dataclass
class _Failures:
    since_s: float
    count: int


class AuthFailures:
    """Counts wrong tokens by address."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._by_address: OrderedDict[str, _Failures] = OrderedDict()

    def wait_s(self, address: str) -> int:
        """How long this address must wait before it may try again; 0: not at all."""
        failures = self._by_address.get(_group(address))
        if failures is None or failures.count < MAX_FAILURES:
            return 0
        return max(math.ceil(failures.since_s + WINDOW_S - self._clock()), 0)

    def add(self, address: str) -> None:
        """Count a wrong token."""
        key, now_s = _group(address), self._clock()
        failures = self._by_address.pop(key, None)
        if failures is None or now_s - failures.since_s >= WINDOW_S:
            failures = _Failures(now_s, 0)
        failures.count += 1
        self._by_address[key] = failures
        while len(self._by_address) > MAX_ADDRESSES:
            self._by_address.popitem(last=False)

    def __len__(self) -> int:
        return len(self._by_address)


def _group(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return address
    return str(ipaddress.ip_network((parsed, _IPV6_NETWORK_BITS), strict=False))
