"""What is done with a finished model: it is evaluated, or exported."""
