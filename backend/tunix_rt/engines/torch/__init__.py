"""The PyTorch engine: transformers' decoders, PEFT's adapters, and a training loop of its own."""
