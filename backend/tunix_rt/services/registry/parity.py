"""Does an exported model write what the registered one writes? Greedy tokens on fixed prompts."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from tunix_rt.base.errors import TunixRTError
from tunix_rt.core.models.export import NUM_PARITY_TOKENS, PARITY_PROMPTS, PromptParity, TokenParity
from tunix_rt.engines.generation.base import GeneratingEngine, Generator, GeneratorRequest, Prompt
from tunix_rt.engines.types import Decoding

OnStage = Callable[[str], None]
"""Told what is being done."""


def compare_tokens(
    engine: GeneratingEngine, registered: GeneratorRequest, exported: GeneratorRequest, on_stage: OnStage
) -> TokenParity:
    """Ask both models the same; one of them is in memory at a time.

    Raises:
        TunixRTError: One of them cannot be loaded, or cannot write.
    """
    on_stage("asking the registered model")
    generator = engine.open_generator(registered)
    # Both in the same format, whatever would be chosen for each.
    same = replace(exported, precision=generator.precision)
    device, precision = generator.device, generator.precision
    before = _written(generator)
    del generator
    on_stage("asking the exported model")
    after = _written(engine.open_generator(same))
    return TokenParity(
        engine=engine.name,
        device=device,
        precision=precision,
        max_new_tokens=NUM_PARITY_TOKENS,
        prompts=tuple(
            PromptParity(prompt=prompt, registered=one, exported=other)
            for prompt, one, other in zip(PARITY_PROMPTS, before, after, strict=True)
        ),
    )


def _written(generator: Generator) -> Sequence[tuple[int, ...]]:
    encode = generator.encoder.encode_prompt
    prompts = [Prompt(text, encode(text)) for text in PARITY_PROMPTS]
    tokens: dict[str, tuple[int, ...]] = {}
    for finished in generator.write(prompts, Decoding(max_new_tokens=NUM_PARITY_TOKENS)):
        for written in finished:
            if written.failure is not None:
                raise TunixRTError(
                    f"The model cannot answer {written.prompt.key!r}: {written.detail or written.failure}",
                    next_step="Without an answer there is no parity: try another --device or --dtype.",
                )
            tokens[written.prompt.key] = written.token_ids
    return [tokens[text] for text in PARITY_PROMPTS]
