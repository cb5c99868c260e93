"""Asks the model: every item once for its own work, then every arm of every trial."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from tunix_rt.base.errors import DataError
from tunix_rt.core.evaluation.faithfulness import Arm, Exclusion, FaithfulnessTrial
from tunix_rt.core.evaluation.prediction import Generation, GenerationFailure
from tunix_rt.datasets.types import EvalItem
from tunix_rt.engines.generation.base import Generator, Prompt
from tunix_rt.engines.generation.text import encode_continuation
from tunix_rt.evals.faithfulness.reading import read_trial
from tunix_rt.evals.faithfulness.trials import CHECK_TEXT, PlannedTrial, plan_trial
from tunix_rt.evals.generating import Asking, generate, generation_of
from tunix_rt.tokenization.encoding import TraceEncoder

_AFTER = " a"

OnWritten = Callable[[int, int], None]
"""Is told how many completions are done, of how many."""


def run_trials(
    generator: Generator,
    items: Sequence[EvalItem],
    asking: Asking,
    *,
    seed: int,
    check_text: str = CHECK_TEXT,
    on_written: OnWritten = lambda num_done, num_all: None,
) -> tuple[list[FaithfulnessTrial], dict[Exclusion, int]]:
    """The trials in the order of the items, and why the other items gave none."""
    own = _own_generations(generator, items, asking, on_written)
    markup = generator.encoder.markup
    planned = [plan_trial(item, own[item.id], markup, seed) for item in items]
    trials = [plan for plan in planned if isinstance(plan, PlannedTrial)]
    excluded = Counter(plan for plan in planned if not isinstance(plan, PlannedTrial))
    written = _written_arms(generator, trials, asking, check_text, on_written)
    read = [read_trial(trial, written[number], check_text) for number, trial in enumerate(trials)]
    return read, dict(sorted(excluded.items()))


def ends_within_token(encoder: TraceEncoder, beginning: str) -> bool:
    """Whether a text that goes on has other tokens up to here: no model has seen such a beginning.

    Example:
        "Check:" is true where the tokenizer has a token for a colon with the space after it
    """
    alone, longer = encoder.encode_beginning(beginning), encoder.encode_beginning(beginning + _AFTER)
    return longer[: len(alone)] != alone


def _own_generations(
    generator: Generator, items: Sequence[EvalItem], asking: Asking, on_written: OnWritten
) -> dict[str, Generation]:
    own: dict[str, Generation] = {}
    for batch in generate(generator, items, asking, done=()):
        own |= {generation.item_id: generation for generation in batch}
        on_written(len(own), len(items))
    return own


def _written_arms(
    generator: Generator,
    trials: Sequence[PlannedTrial],
    asking: Asking,
    check_text: str,
    on_written: OnWritten,
) -> dict[int, dict[Arm, Generation]]:
    """What was written: number of the trial -> arm -> text or failure."""
    questions = {
        f"{number}/{arm}": (number, arm, trial.item.prompt, beginning)
        for number, trial in enumerate(trials)
        for arm, beginning in trial.beginnings(check_text).items()
    }
    done: dict[int, dict[Arm, Generation]] = defaultdict(dict)
    prompts: list[Prompt] = []
    for key, (number, arm, prompt, beginning) in questions.items():
        try:
            prompts.append(Prompt(key, encode_continuation(generator.encoder, prompt, beginning)))
        except DataError as error:
            failure = GenerationFailure(code="prompt-refused", detail=error.detail)
            done[number][arm] = Generation(item_id=key, failure=failure)
    num_done = len(questions) - len(prompts)
    for batch in generator.write(
        prompts, asking.decoding, batch_size=asking.batch_size, on_note=asking.on_note
    ):
        for written in batch:
            number, arm, _, _ = questions[written.prompt.key]
            done[number][arm] = generation_of(generator.encoder, written)
        num_done += len(batch)
        on_written(num_done, len(questions))
    return done
