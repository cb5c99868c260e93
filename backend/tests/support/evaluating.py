"""Evaluations of tiny models: an eval set of sums, an engine that records prompts, and recording views."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.evaluation_starts import sum_items, write_evalset
from support.training import TrainingWorkspace
from tunix_rt.base.home import Home, open_home
from tunix_rt.base.settings import Settings
from tunix_rt.engines.generation.base import Completion, GeneratingEngine, Generator, GeneratorRequest, Prompt
from tunix_rt.engines.types import Decoding, DeviceRequest, EngineName
from tunix_rt.evaluation.evaluate import EvaluationRequest, evaluate
from tunix_rt.evaluation.files import EvaluationDir
from tunix_rt.evaluation.predict import EvaluationProgress
from tunix_rt.evaluation.types import Evaluation

GREEDY = Decoding(max_new_tokens=24)
SAMPLED = Decoding(temperature=1.0, num_samples=2, seed=3, max_new_tokens=24)


class Watcher:
    """A view that records its output."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.progress: list[EvaluationProgress] = []

    def show_line(self, text: str) -> None:
        self.lines.append(text)

    def show_hashing(self, fraction: float) -> None:
        assert 0 <= fraction <= 1

    def show_progress(self, progress: EvaluationProgress) -> None:
        self.progress.append(progress)


class Interrupting(Watcher):
    """A view that raises KeyboardInterrupt after some completions."""

    def __init__(self, *, after: int) -> None:
        super().__init__()
        self._after = after

    def show_progress(self, progress: EvaluationProgress) -> None:
        super().show_progress(progress)
        if progress.num_done >= self._after:
            raise KeyboardInterrupt


@dataclass
class CountingEngine:
    """A real engine that records its prompts."""

    name: EngineName = "jax"
    asked: list[tuple[str, int]] = field(default_factory=list)

    def open_generator(self, request: GeneratorRequest) -> Generator:
        generator = _real_engine(self.name).open_generator(request)
        return _CountingGenerator(generator, self.asked)  # type: ignore[return-value]


def _real_engine(name: EngineName) -> GeneratingEngine:
    if name == "jax":
        from tunix_rt.engines.jax.engine import JaxEngine

        return JaxEngine()
    from tunix_rt.engines.torch.engine import TorchEngine

    return TorchEngine()


@dataclass
class _CountingGenerator:
    generator: Generator
    asked: list[tuple[str, int]]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.generator, name)

    def generate(
        self,
        prompts: Sequence[Prompt],
        decoding: Decoding,
        *,
        batch_size: int | None = None,
        on_note: Callable[[str], None] = lambda _: None,
    ) -> Iterator[list[Completion]]:
        self.asked += [(prompt.key, prompt.sample) for prompt in prompts]
        return self.generator.generate(prompts, decoding, batch_size=batch_size, on_note=on_note)


@dataclass(frozen=True)
class EvaluationWorkspace:
    """A training workspace with an eval set of sums."""

    workspace: TrainingWorkspace
    evalset: Path

    @property
    def settings(self) -> Settings:
        return self.workspace.settings

    def store(self) -> Home:
        return open_home(self.settings)

    def request(self, model: str | Path, output: str | None = None, **values: Any) -> EvaluationRequest:
        defaults: dict[str, Any] = {
            "evalset": str(self.evalset),
            "decoding": GREEDY,
            "device": DeviceRequest("cpu"),
            "batch_size": 2,
            "output": None if output is None else self.workspace.root / output,
        }
        return EvaluationRequest(str(model), **defaults | values)

    def evaluate(
        self,
        model: str | Path,
        output: str | None = None,
        *,
        view: Watcher | None = None,
        engine: CountingEngine | None = None,
        **values: Any,
    ) -> Evaluation:
        """Evaluate in this process."""
        request = self.request(model, output, **values)
        opened = self.store()
        try:
            return evaluate(opened, engine or CountingEngine(), request, view or Watcher())
        finally:
            opened.close()

    def directory(self, output: str) -> EvaluationDir:
        return EvaluationDir(self.workspace.root / output)

    def predictions(self, output: str) -> bytes:
        return self.directory(output).predictions.read_bytes()


def make_evaluation_workspace(workspace: TrainingWorkspace, num_items: int = 5) -> EvaluationWorkspace:
    """Write an eval set of sums from the training dataset, so that a trained model can answer some."""
    return EvaluationWorkspace(workspace, write_evalset(workspace.root / "sums.jsonl", sum_items(num_items)))
