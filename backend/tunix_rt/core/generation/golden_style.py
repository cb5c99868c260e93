"""Short tasks with an exact form of answer: does the model do just what it is told?"""

from tunix_rt.core.generation.dice import Dice
from tunix_rt.core.generation.english import listed, ordinal
from tunix_rt.core.generation.family import Worked, families
from tunix_rt.core.generation.text_work import WORDS


def repeat_word(dice: Dice) -> Worked:
    """A word repeated a number of times."""
    word, times = dice.pick(WORDS), dice.between(2, 5)
    answer = " ".join([word] * times)
    prompt = f"Repeat the word '{word}' {times} times, separated by single spaces."
    steps = (
        ("process", f"Write {word} {times} times with one space between: {answer}."),
        ("check", f"The line has {times} words, all of them {word}."),
    )
    return Worked(prompt, steps, answer)


def count_word(dice: Dice) -> Worked:
    """How often a word stands in a line of words."""
    wanted, *others = dice.sample(WORDS, 4)
    times = dice.between(2, 4)
    line = dice.shuffled([wanted] * times + others)
    places = [ordinal(place) for place, word in enumerate(line, start=1) if word == wanted]
    prompt = f"How many times does the word '{wanted}' appear in this line: {' '.join(line)}?"
    steps = (
        ("process", f"Going through the words, {wanted} is the {listed(places)} word."),
        ("answer", f"That makes {times}."),
    )
    return Worked(prompt, steps, str(times))


def to_upper_case(dice: Dice) -> Worked:
    """Two words in capitals."""
    text = " ".join(dice.sample(WORDS, 2))
    steps = (
        ("process", f"Change each letter of '{text}' to its capital and keep the space."),
        ("answer", f"The result is {text.upper()}."),
    )
    return Worked(f"Write '{text}' in upper case.", steps, text.upper())


def to_title_case(dice: Dice) -> Worked:
    """Each word with a capital first letter."""
    text = " ".join(dice.sample(WORDS, 3))
    steps = (
        ("process", f"Only the first letter of each word of '{text}' becomes a capital."),
        ("answer", f"The result is {text.title()}."),
    )
    return Worked(f"Capitalise the first letter of every word: {text}", steps, text.title())


def nth_word(dice: Dice) -> Worked:
    """One word picked by its place."""
    words = dice.sample(WORDS, 6)
    place = dice.between(2, 6)
    numbered = ", ".join(f"{n} {word}" for n, word in enumerate(words[:place], start=1))
    steps = (
        ("process", f"Number the words: {numbered}."),
        ("answer", f"Word number {place} is {words[place - 1]}."),
    )
    return Worked(f"What is the {ordinal(place)} word of '{' '.join(words)}'?", steps, words[place - 1])


def joined_with(dice: Dice) -> Worked:
    """Words joined by a given separator."""
    words = dice.sample(WORDS, dice.between(3, 4))
    name, separator = dice.pick(
        (("a hyphen", "-"), ("a semicolon", ";"), ("an underscore", "_"), ("a slash", "/"))
    )
    answer = separator.join(words)
    steps = (
        ("process", f"Keep the order {', '.join(words)} and put {separator} between neighbours."),
        ("answer", f"The result is {answer}."),
    )
    return Worked(f"Join the words {listed(words)} with {name} and no spaces.", steps, answer)


def replace_letter(dice: Dice) -> Worked:
    """Every copy of a letter replaced."""
    word = dice.pick(WORDS)
    old = dice.pick(sorted(set(word)))
    answer = word.replace(old, "*")
    places = [ordinal(place) for place, letter in enumerate(word, start=1) if letter == old]
    steps = (
        ("process", f"In {'-'.join(word)}, '{old}' is the {listed(places)} letter."),
        ("answer", f"With a star there: {answer}."),
    )
    return Worked(f"Replace every '{old}' in '{word}' with '*'.", steps, answer)


GOLDEN_STYLE = families(
    "formatting", "golden_style",
    repeat_word, count_word, to_upper_case, to_title_case, nth_word, joined_with, replace_letter,
)  # fmt: skip
