"""Letters, words and exact output formats."""

from tunix_rt.problems.family import Problem, SeededRandom, families, listed, ordinal

WORDS = (
    "anchor basket candle dragon engine forest garden hammer island jacket kettle ladder magnet needle "
    "orange pencil quartz rocket saddle tunnel umpire velvet window yellow zipper bridge copper desert "
    "falcon goblet harbor insect jungle lantern meadow nectar oyster pepper ribbon silver timber valley "
    "walnut planet"
).split()
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_PALINDROMES = "level radar rotor kayak civic madam refer noon stats tenet solos deed".split()


def _spelled(word: str) -> str:
    return "-".join(word)


def reverse_word(rng: SeededRandom) -> Problem:
    """A word written backwards."""
    word = rng.choice(WORDS)
    backwards = word[::-1]
    prompt = rng.choice(
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
    return Problem(prompt, steps, backwards, "easy")


def sort_letters(rng: SeededRandom) -> Problem:
    """The letters of a word in alphabetical order."""
    word = rng.choice(WORDS)
    ordered = "".join(sorted(word))
    prompt = rng.choice(
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
    return Problem(prompt, steps, ordered, "easy")


def count_letter(rng: SeededRandom) -> Problem:
    """How often a letter occurs in two words, place by place."""
    words = rng.sample(WORDS, 2)
    text = " ".join(words)
    letter = rng.choice(
        sorted({letter for letter in text if letter.isalpha() and text.count(letter) > 1} or set(words[0]))
    )
    counts = [word.count(letter) for word in words]
    prompt = rng.choice(
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
    return Problem(prompt, steps, str(sum(counts)), "easy")


def caesar_shift(rng: SeededRandom) -> Problem:
    """Each letter moved forward in the alphabet."""
    word, shift = rng.choice(WORDS), rng.randint(2, 5)
    moved = "".join(_ALPHABET[(_ALPHABET.index(letter) + shift) % 26] for letter in word)
    prompt = rng.choice(
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
    return Problem(prompt, steps, moved, "hard")


def palindrome(rng: SeededRandom) -> Problem:
    """Whether a word reads the same backwards."""
    word = rng.choice([*_PALINDROMES, *WORDS[:14]])
    backwards = word[::-1]
    same = word == backwards
    prompt = rng.choice(
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
    return Problem(prompt, steps, "yes" if same else "no", "easy")


def alphabetise(rng: SeededRandom) -> Problem:
    """A few words in dictionary order."""
    words = rng.sample(WORDS, rng.randint(4, 5))
    ordered = sorted(words)
    prompt = rng.choice(
        (
            f"Put these words in alphabetical order: {', '.join(words)}.",
            f"Sort alphabetically: {', '.join(words)}.",
        )
    )
    steps = (
        (
            "setup",
            f"Their first letters are {listed([word[0] for word in words])}; "
            "equal ones are decided by the next letters.",
        ),
        ("process", f"First comes {ordered[0]}, last comes {ordered[-1]}."),
        ("answer", f"In order: {', '.join(ordered)}."),
    )
    return Problem(prompt, steps, ", ".join(ordered), "easy")


def vowels_and_consonants(rng: SeededRandom) -> Problem:
    """How many more consonants than vowels two words have."""
    words = rng.sample(WORDS, 2)
    letters = "".join(words)
    vowels = [letter for letter in letters if letter in "aeiou"]
    rest = len(letters) - len(vowels)
    prompt = rng.choice(
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
    return Problem(prompt, steps, str(rest - len(vowels)), "medium")


def acronym(rng: SeededRandom) -> Problem:
    """The first letters of several words."""
    words = rng.sample(WORDS, rng.randint(3, 5))
    short = "".join(word[0].upper() for word in words)
    prompt = rng.choice(
        (
            f"Make an acronym from the words: {' '.join(words)}.",
            f"Take the first letter of each word of '{' '.join(words)}' and write them in capitals.",
        )
    )
    steps = (
        ("process", f"First letters: {', '.join(f'{word[0]} from {word}' for word in words)}."),
        ("answer", f"In capitals and joined: {short}."),
    )
    return Problem(prompt, steps, short, "easy")


TEXT_WORK = families(
    "text", "synthetic",
    reverse_word, sort_letters, count_letter, caesar_shift, palindrome, alphabetise, vowels_and_consonants,
    acronym,
)  # fmt: skip


def repeat_word(rng: SeededRandom) -> Problem:
    """A word repeated a number of times."""
    word, times = rng.choice(WORDS), rng.randint(2, 5)
    answer = " ".join([word] * times)
    prompt = f"Repeat the word '{word}' {times} times, separated by single spaces."
    steps = (
        ("process", f"Write {word} {times} times with one space between: {answer}."),
        ("check", f"The line has {times} words, all of them {word}."),
    )
    return Problem(prompt, steps, answer)


def count_word(rng: SeededRandom) -> Problem:
    """How often a word stands in a line of words."""
    wanted, *others = rng.sample(WORDS, 4)
    times = rng.randint(2, 4)
    line = rng.shuffled([wanted] * times + others)
    places = [ordinal(place) for place, word in enumerate(line, start=1) if word == wanted]
    prompt = f"How many times does the word '{wanted}' appear in this line: {' '.join(line)}?"
    steps = (
        ("process", f"Going through the words, {wanted} is the {listed(places)} word."),
        ("answer", f"That makes {times}."),
    )
    return Problem(prompt, steps, str(times))


def to_upper_case(rng: SeededRandom) -> Problem:
    """Two words in capitals."""
    text = " ".join(rng.sample(WORDS, 2))
    steps = (
        ("process", f"Change each letter of '{text}' to its capital and keep the space."),
        ("answer", f"The result is {text.upper()}."),
    )
    return Problem(f"Write '{text}' in upper case.", steps, text.upper())


def to_title_case(rng: SeededRandom) -> Problem:
    """Each word with a capital first letter."""
    text = " ".join(rng.sample(WORDS, 3))
    steps = (
        ("process", f"Only the first letter of each word of '{text}' becomes a capital."),
        ("answer", f"The result is {text.title()}."),
    )
    return Problem(f"Capitalise the first letter of every word: {text}", steps, text.title())


def nth_word(rng: SeededRandom) -> Problem:
    """One word picked by its place."""
    words = rng.sample(WORDS, 6)
    place = rng.randint(2, 6)
    numbered = ", ".join(f"{n} {word}" for n, word in enumerate(words[:place], start=1))
    steps = (
        ("process", f"Number the words: {numbered}."),
        ("answer", f"Word number {place} is {words[place - 1]}."),
    )
    return Problem(f"What is the {ordinal(place)} word of '{' '.join(words)}'?", steps, words[place - 1])


def joined_with(rng: SeededRandom) -> Problem:
    """Words joined by a given separator."""
    words = rng.sample(WORDS, rng.randint(3, 4))
    name, separator = rng.choice(
        (("a hyphen", "-"), ("a semicolon", ";"), ("an underscore", "_"), ("a slash", "/"))
    )
    answer = separator.join(words)
    steps = (
        ("process", f"Keep the order {', '.join(words)} and put {separator} between neighbours."),
        ("answer", f"The result is {answer}."),
    )
    return Problem(f"Join the words {listed(words)} with {name} and no spaces.", steps, answer)


def replace_letter(rng: SeededRandom) -> Problem:
    """Every copy of a letter replaced."""
    word = rng.choice(WORDS)
    old = rng.choice(sorted(set(word)))
    answer = word.replace(old, "*")
    places = [ordinal(place) for place, letter in enumerate(word, start=1) if letter == old]
    steps = (
        ("process", f"In {'-'.join(word)}, '{old}' is the {listed(places)} letter."),
        ("answer", f"With a star there: {answer}."),
    )
    return Problem(f"Replace every '{old}' in '{word}' with '*'.", steps, answer)


GOLDEN_STYLE = families(
    "formatting", "golden_style",
    repeat_word, count_word, to_upper_case, to_title_case, nth_word, joined_with, replace_letter,
)  # fmt: skip
