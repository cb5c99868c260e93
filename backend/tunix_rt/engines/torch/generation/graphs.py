"""One step of decoding as a CUDA graph.

A step is some hundred small kernels. Started one by one from Python, they leave a GPU idle most of the time;
a graph starts all of them at once.
"""

from collections.abc import Callable

import torch
from torch import Tensor

REPLAYS_GRAPHS = True
"""False: start every kernel from Python, on GPU too."""


def replayed(step: Callable[[], Tensor], device: torch.device) -> Callable[[], Tensor]:
    """The same step, as fast as the device allows.

    The step must read and write tensors that stay where they are, and its result is overwritten by the next
    one. It runs here, for the libraries to settle, and then for the capture.
    """
    if device.type != "cuda" or not REPLAYS_GRAPHS:
        return step
    _warm_up(step, device)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = step()

    def replay() -> Tensor:
        graph.replay()
        return result

    return replay


def _warm_up(step: Callable[[], Tensor], device: torch.device) -> None:
    """On a stream of its own, as captures want it."""
    stream = torch.cuda.Stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        step()
        step()
    torch.cuda.current_stream(device).wait_stream(stream)
