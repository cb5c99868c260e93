"""Chats with a model: what is asked and what comes back, in the shapes that OpenAI's clients speak."""
