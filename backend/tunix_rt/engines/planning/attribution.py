"""The compiler's figures by component: what it is given is exact, what it makes is attributed."""

from tunix_rt.core.plan import Component
from tunix_rt.engines.planning.protocol import CompiledStep

_MADE: tuple[Component, ...] = ("gradients", "activations", "logits")


def attributed_components(
    compiled: CompiledStep, estimated: dict[Component, int]
) -> tuple[dict[Component, int], str]:
    """Components that add up to the compiler's total, and a note on how exact each is.

    The compiler reuses memory: a gradient may lie where an activation was. So its temporaries are one number;
    it is shared out by the component model, and what the model does not explain stays `temporaries`.
    """
    stored = compiled.stored
    undonated = compiled.undonated_bytes
    if undonated is None:
        undonated = estimated["undonated_copies"]
    made = max(0, compiled.total_bytes - stored.weights - stored.optimizer_state - undonated)
    modelled = {name: estimated[name] for name in _MADE}
    scale = min(1.0, made / max(1, sum(modelled.values())))
    shares = {name: int(size * scale) for name, size in modelled.items()}
    components: dict[Component, int] = {
        "weights": stored.weights,
        "optimizer_state": stored.optimizer_state,
        "undonated_copies": undonated,
        **shares,
        "temporaries": 0,
    }
    components["temporaries"] = compiled.total_bytes - sum(components.values())
    exact = (
        "weights and optimizer state"
        if compiled.undonated_bytes is None
        else ("weights, optimizer state and undonated copies")
    )
    return components, f"Exact: the total, {exact}. Gradients, activations and logits are attributed."
