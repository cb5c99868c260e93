"""Rotary positions from config.json."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from tunix_rt.engines.weights.config_fields import Family, FieldError, shown

FULL, SLIDING = "full_attention", "sliding_attention"
"""The two kinds of layers in transformers."""

# Frequencies are computed in float32.
_SMALLEST, _LARGEST = 1e-30, 1e30


@dataclass(frozen=True)
class RopeScaling:
    """How positions are scaled beyond the pretraining length."""

    kind: Literal["linear", "llama3"]
    factor: float
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_max_positions: int = 8192


@dataclass(frozen=True)
class Rope:
    """The rotary positions of a kind of layer."""

    theta: float
    scaling: RopeScaling | None = None


_Settings: TypeAlias = dict[str, tuple[Any, str]]
"""Values with the name that their field has in config.json: {"factor": (8.0, "rope_scaling.factor")}."""
_ORIGINAL = "original_max_position_embeddings"


def read_ropes(family: Family, config: Mapping[str, Any], max_positions: int) -> tuple[Rope, Rope | None]:
    """The rotary positions, and those of Gemma 3's layers with a window.

    transformers 5 writes `rope_parameters`, for Gemma 3 per layer type; older files have `rope_theta`,
    `rope_scaling` and `rope_local_base_freq`, which transformers 5 still reads.

    Raises:
        FieldError: A field has a wrong type, or a value that is not supported.
    """
    defaults: _Settings = {_ORIGINAL: (max_positions, "max_position_embeddings")}
    if config.get("partial_rotary_factor") is not None:
        defaults |= _field(config, "partial_rotary_factor", None)
    if family == "gemma3":
        full, sliding = _settings_per_layer_type(config)
        theta = {"rope_theta": (config.get("rope_theta", 1_000_000.0), "rope_theta")}
        local_theta = {"rope_theta": (config.get("rope_local_base_freq", 10_000.0), "rope_local_base_freq")}
        return _rope(defaults | theta | full), _rope(defaults | local_theta | sliding)
    where, settings = "rope_parameters", _settings("rope_parameters", config.get("rope_parameters"))
    # An empty one counts as none.
    if config.get("rope_scaling"):
        where, settings = "rope_scaling", _settings("rope_scaling", config["rope_scaling"])
    if settings.keys() & {FULL, SLIDING}:
        raise FieldError(where, f"differs by layer type, which {family} does not have")
    settings = defaults | _field(config, "rope_theta", 10_000.0) | settings
    # Unlike the others, this field takes precedence over the one in the settings.
    return _rope(settings | (_field(config, _ORIGINAL, None) if _ORIGINAL in config else {})), None


def _settings_per_layer_type(config: Mapping[str, Any]) -> tuple[_Settings, _Settings]:
    """Gemma 3's settings for the layers without and with a window."""
    by_type = _settings("rope_parameters", config.get("rope_parameters"))
    if by_type and not by_type.keys() & {FULL, SLIDING}:
        raise FieldError(
            "rope_parameters",
            f"has neither {FULL} nor {SLIDING}, so that transformers would ignore it",
            f"Nest the settings of each layer type under {FULL} and {SLIDING}.",
        )
    full, sliding = (
        _settings(f"rope_parameters.{kind}", by_type.get(kind, (None,))[0]) for kind in (FULL, SLIDING)
    )
    scaling = _settings("rope_scaling", config.get("rope_scaling"))
    if not scaling:
        return full, sliding
    if config.get("rope_parameters") is not None and by_type.get(FULL, (None,))[0] is None:
        raise FieldError("rope_scaling", f"is combined with rope_parameters without {FULL}")
    if scaling.keys() & {FULL, SLIDING}:
        raise FieldError("rope_scaling", "differs by layer type, which transformers reads in rope_parameters")
    if "rope_type" not in scaling and scaling.get("type", ("default",))[0] != "default":
        raise FieldError(
            "rope_scaling",
            "has a type, but no rope_type, so that transformers would ignore it",
            "Rename rope_scaling.type in config.json to rope_type.",
        )
    return full | scaling, sliding


def _field(config: Mapping[str, Any], key: str, default: object) -> _Settings:
    return {key: (config.get(key, default), key)}


def _settings(where: str, value: object) -> _Settings:
    if not isinstance(value, Mapping | None):
        raise FieldError(where, f"is {shown(value)}, but must be an object")
    return {key: (setting, f"{where}.{key}") for key, setting in (value or {}).items()}


def _rope(settings: _Settings) -> Rope:
    def number(key: str) -> float:
        if key not in settings:
            raise FieldError(f"{kind_field.rpartition('.')[0]}.{key}", f"is missing, but rope_type is {kind}")
        value, field = settings[key]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (is_number and _SMALLEST < value < _LARGEST):
            raise FieldError(field, f"is {shown(value)}, but must be a positive number")
        return float(value)

    kind, kind_field = settings.get("rope_type") or settings.get("type", ("default", "rope_type"))
    theta = number("rope_theta")
    if kind == "default":
        return Rope(theta)
    if kind not in ("linear", "llama3"):
        raise FieldError(
            kind_field,
            f"is {shown(kind)}, which is not supported",
            "Choose a model whose rope_type is default, linear or llama3.",
        )
    # The default kind ignores it; with the others, transformers fails.
    share, field = settings.get("partial_rotary_factor", (1.0, ""))
    if share != 1.0:
        raise FieldError(field, f"is {shown(share)}, which cannot be combined with rope_type {kind}")
    if kind == "linear":
        return Rope(theta, RopeScaling("linear", number("factor")))
    original, field = settings[_ORIGINAL]
    if type(original) is not int:
        raise FieldError(field, f"is {shown(original)}, but must be of type int")
    scaling = RopeScaling(
        "llama3",
        factor=number("factor"),
        low_freq_factor=number("low_freq_factor"),
        high_freq_factor=number("high_freq_factor"),
        original_max_positions=int(number(_ORIGINAL)),
    )
    if scaling.low_freq_factor >= scaling.high_freq_factor:
        _, field = settings["low_freq_factor"]
        raise FieldError(field, "must be smaller than high_freq_factor")
    return Rope(theta, scaling)
