"""Is an answer right? One checker per kind of answer."""
