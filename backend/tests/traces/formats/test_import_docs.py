from pathlib import Path

import pytest

from tunix_rt.traces.formats.export import EXPORT_FORMATS
from tunix_rt.traces.formats.registry import ROW_FORMATS
from tunix_rt.traces.formats.solutions import UNMARKED_RULE

PAGE = (Path(__file__).parents[4] / "docs" / "importing.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*ROW_FORMATS, *EXPORT_FORMATS, UNMARKED_RULE])
def test_every_format_is_documented(name: str) -> None:
    assert f"`{name}`" in PAGE


@pytest.mark.parametrize("name", ROW_FORMATS)
def test_required_keys_are_documented(name: str) -> None:
    section = PAGE.split("## Row formats")[1].split("### Column map")[0]
    (line,) = [line for line in section.splitlines() if line.startswith(f"| `{name}` |")]
    assert [key for key in ROW_FORMATS[name].required if f"`{key}`" not in line] == []
