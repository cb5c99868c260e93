"""What a model wrote, made safe to print."""


def printable(text: str) -> str:
    """The text without what would steer a terminal.

    Example:
        a bell or an escape sequence's first character -> �
    """
    return "".join(char if char.isprintable() or char in "\n\t" else "�" for char in text)
