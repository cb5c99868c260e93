"""Traces from and to the formats that other tools use: pure conversions of one row."""
