"""The words of evaluation: protocol, prediction, scores, record, comparison, baseline."""
