"""Does the answer depend on the work shown? Trials, their reading and their scores; docs/faithfulness.md."""
