"""From a text to a verdict, from verdicts to scores."""
