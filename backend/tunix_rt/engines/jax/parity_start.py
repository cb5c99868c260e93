"""Write the initial weights that both engines start a parity run from.

`python -m tunix_rt.engines.jax.parity_start RECIPE.yaml DIR` writes

    DIR/model     the random weights, if the recipe starts from random weights
    DIR/adapters  the random adapters of a LoRA recipe
"""

import sys
from pathlib import Path

from tunix_rt.base.errors import TunixRTError, print_child_error
from tunix_rt.engines.jax.devices import choose_device
from tunix_rt.engines.jax.export import export_model
from tunix_rt.engines.jax.program import build_program
from tunix_rt.engines.jax.sharding import make_mesh
from tunix_rt.engines.jax.weights import save_adapters
from tunix_rt.engines.parity.runs import ADAPTERS, MODEL
from tunix_rt.engines.types import DeviceRequest
from tunix_rt.engines.weights.sources import load_model_tokenizer, resolve_model
from tunix_rt.recipes.load import load_recipe
from tunix_rt.recipes.types import Recipe
from tunix_rt.tokenization.chat_template import choose_template
from tunix_rt.tokenization.encoding import TraceEncoder


def write_start(recipe: Recipe, directory: Path) -> None:
    """Write the random weights and adapters of a recipe in the formats of Hugging Face and PEFT."""
    source = resolve_model(recipe.model, needs_weights=False)
    choice = choose_device(DeviceRequest("cpu", index=0))
    mesh = make_mesh(recipe.sharding, choice.devices)
    num_steps = recipe.training.num_steps or 1
    program = build_program(recipe, source.architecture, mesh, num_steps=num_steps, platform="cpu")
    if recipe.model.weights == "random":
        tokenizer = load_model_tokenizer(recipe.model, source)
        template = choose_template(tokenizer, recipe.data.chat_template)
        encoder = TraceEncoder(tokenizer, template, recipe.data.markup)
        export_model(directory / MODEL, program.random_params(), None, recipe, source, encoder)
    if recipe.lora is not None:
        adapters = program.random_adapters(recipe.lora)
        (directory / ADAPTERS).mkdir()
        save_adapters(directory / ADAPTERS, adapters, recipe.lora, base_model=recipe.model.name)


if __name__ == "__main__":
    try:
        write_start(load_recipe(Path(sys.argv[1])).recipe, Path(sys.argv[2]))
    except TunixRTError as error:
        print_child_error(error)
        sys.exit(error.exit_code)
