"""Letters and words: reversing, sorting, counting, shifting."""

from tunix_rt.core.generation.dice import Dice
from tunix_rt.core.generation.english import listed
from tunix_rt.core.generation.family import Worked, families

WORDS = (
    "anchor basket candle dragon engine forest garden hammer island jacket kettle "
    "ladder magnet needle orange pencil quartz rocket saddle tunnel umpire velvet "
    "window yellow zipper bridge copper desert falcon goblet harbor insect jungle "
    "lantern meadow nectar oyster pepper ribbon silver timber valley walnut planet"
).split()
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_PALINDROMES = "level radar rotor kayak civic madam refer noon stats tenet solos deed".split()


def _spelled(word: str) -> str:
    return "-".join(word)


def reverse_word(dice: Dice) -> Worked:
    """A word written backwards."""
    word = dice.pick(WORDS)
    backwards = word[::-1]
    prompt = dice.pick(
        (
            f"Reverse the word '{word}'.",
            f"Write '{word}' backwards.",
            f"Spell the word '{word}' from the last letter to the first.",
        )
    )
    steps = (
        ("setup", f"The letters of {word} are {_spelled(word)}."),
        ("process", f"From the last to the first: {_spelled(backwards)}."),
        ("answer", f"Joined together: {backwards}."),
    )
    return Worked(prompt, steps, backwards, "easy")


def sort_letters(dice: Dice) -> Worked:
    """The letters of a word in alphabetical order."""
    word = dice.pick(WORDS)
    ordered = "".join(sorted(word))
    prompt = dice.pick(
        (
            f"Sort the letters of '{word}' alphabetically.",
            f"Put the letters of '{word}' in order from a to z.",
        )
    )
    steps = (
        ("setup", f"The letters of {word} are {_spelled(word)}."),
        ("process", f"In alphabetical order: {_spelled(ordered)}."),
        ("answer", f"Joined together: {ordered}."),
    )
    return Worked(prompt, steps, ordered, "easy")


def count_letter(dice: Dice) -> Worked:
    """How often a letter occurs in two words, place by place."""
    words = dice.sample(WORDS, 2)
    text = " ".join(words)
    letter = dice.pick(
        sorted({letter for letter in text if letter.isalpha() and text.count(letter) > 1} or set(words[0]))
    )
    counts = [word.count(letter) for word in words]
    prompt = dice.pick(
        (
            f"How many times does the letter '{letter}' occur in '{text}'?",
            f"Count the letter '{letter}' in the phrase '{text}'.",
        )
    )
    steps = (
        ("process", f"In {_spelled(words[0])} the letter occurs {counts[0]}×."),
        ("process", f"In {_spelled(words[1])} the letter occurs {counts[1]}×."),
        ("answer", f"{counts[0]} + {counts[1]} = {sum(counts)}."),
    )
    return Worked(prompt, steps, str(sum(counts)), "easy")


def caesar_shift(dice: Dice) -> Worked:
    """Each letter moved forward in the alphabet."""
    word, shift = dice.pick(WORDS), dice.between(2, 5)
    moved = "".join(_ALPHABET[(_ALPHABET.index(letter) + shift) % 26] for letter in word)
    prompt = dice.pick(
        (
            f"Shift each letter of '{word}' forward by {shift} in the alphabet (after z comes a).",
            f"Encode '{word}' with a Caesar cipher that moves every letter {shift} places forward.",
        )
    )
    pairs = ", ".join(f"{old} → {new}" for old, new in zip(word, moved, strict=True))
    steps = (
        ("setup", f"Every letter moves {shift} places forward; after z comes a."),
        ("process", f"{pairs}."),
        ("answer", f"Joined together: {moved}."),
    )
    return Worked(prompt, steps, moved, "hard")


def palindrome(dice: Dice) -> Worked:
    """Whether a word reads the same backwards."""
    word = dice.pick([*_PALINDROMES, *WORDS[:14]])
    backwards = word[::-1]
    same = word == backwards
    prompt = dice.pick(
        (
            f"Is '{word}' a palindrome? Answer yes or no.",
            f"Does '{word}' read the same backwards? (yes or no)",
        )
    )
    steps = (
        ("process", f"Backwards, {_spelled(word)} becomes {_spelled(backwards)}."),
        (
            "answer",
            f"{backwards} is {'the same as' if same else 'different from'} {word}: "
            f"{'yes' if same else 'no'}.",
        ),
    )
    return Worked(prompt, steps, "yes" if same else "no", "easy")


def alphabetise(dice: Dice) -> Worked:
    """A few words in dictionary order."""
    words = dice.sample(WORDS, dice.between(4, 5))
    ordered = sorted(words)
    prompt = dice.pick(
        (
            f"Put these words in alphabetical order: {', '.join(words)}.",
            f"Sort alphabetically: {', '.join(words)}.",
        )
    )
    steps = (
        (
            "setup",
            f"Their first letters are {listed([word[0] for word in words])}; equal ones are decided by "
            "the next letters.",
        ),
        ("process", f"First comes {ordered[0]}, last comes {ordered[-1]}."),
        ("answer", f"In order: {', '.join(ordered)}."),
    )
    return Worked(prompt, steps, ", ".join(ordered), "easy")


def vowels_and_consonants(dice: Dice) -> Worked:
    """How many more consonants than vowels two words have."""
    words = dice.sample(WORDS, 2)
    letters = "".join(words)
    vowels = [letter for letter in letters if letter in "aeiou"]
    rest = len(letters) - len(vowels)
    prompt = dice.pick(
        (
            f"How many more consonants than vowels are in '{words[0]}' and '{words[1]}' together?",
            f"Count the consonants and the vowels of '{words[0]} {words[1]}'. By how many do they differ?",
        )
    )
    steps = (
        ("setup", f"The words have {len(words[0])} + {len(words[1])} = {len(letters)} letters."),
        ("process", f"The vowels are {'-'.join(vowels)}: {len(vowels)} of them."),
        ("process", f"The consonants: {len(letters)} - {len(vowels)} = {rest}."),
        ("answer", f"{rest} - {len(vowels)} = {rest - len(vowels)}."),
    )
    return Worked(prompt, steps, str(rest - len(vowels)), "medium")


def acronym(dice: Dice) -> Worked:
    """The first letters of several words."""
    words = dice.sample(WORDS, dice.between(3, 5))
    short = "".join(word[0].upper() for word in words)
    prompt = dice.pick(
        (
            f"Make an acronym from the words: {' '.join(words)}.",
            f"Take the first letter of each word of '{' '.join(words)}' and write them in capitals.",
        )
    )
    steps = (
        ("process", f"First letters: {', '.join(f'{word[0]} from {word}' for word in words)}."),
        ("answer", f"In capitals and joined: {short}."),
    )
    return Worked(prompt, steps, short, "easy")


TEXT_WORK = families(
    "text", "synthetic",
    reverse_word, sort_letters, count_letter, caesar_shift, palindrome, alphabetise, vowels_and_consonants,
    acronym,
)  # fmt: skip
