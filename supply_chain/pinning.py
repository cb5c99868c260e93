"""`make lock`, second half: packages that are new in the lock get their pin in constraints.txt."""

from supply_chain.locked import ROOT, LockedPackage, python_lock, read_pins

CONSTRAINTS = ROOT / "constraints.txt"


def with_new_pins(constraints: str, locked: list[LockedPackage]) -> str:
    """The constraints with a pin for every locked package, sorted as they are read.

    Example:
        a line b==1, and a locked a==2 -> the lines a==2, b==1
    """
    pinned = {package.name for package in read_pins(constraints)}
    new = [f"{package.name}=={package.version}" for package in locked if package.name not in pinned]
    lines = [*constraints.splitlines(), *new]
    return "\n".join(sorted(lines, key=lambda line: line.partition("==")[0].lower())) + "\n"


def main() -> None:
    """Write constraints.txt."""
    text = CONSTRAINTS.read_text(encoding="utf-8")
    CONSTRAINTS.write_text(with_new_pins(text, python_lock()), encoding="utf-8")


if __name__ == "__main__":
    main()
