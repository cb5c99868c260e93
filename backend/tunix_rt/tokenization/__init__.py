"""Text to training batches, identical for both engines: tokenizer, chat template, loss mask, packing."""
