"""Letters, words and exact output formats."""

from tunix_rt.problems.family import Problem, SeededRandom, families, listed, ordinal, worked_problem

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
    word = rng.choice(WORDS)
    backwards = word[::-1]
    text = f"""
        prompt: Reverse the word '{word}'.
        prompt: Write '{word}' backwards.
        prompt: Spell the word '{word}' from the last letter to the first.
        setup: The letters of {word} are {_spelled(word)}.
        process: From the last to the first: {_spelled(backwards)}.
        answer: Joined together: {backwards}.
    """
    return worked_problem(rng, text, backwards)


def sort_letters(rng: SeededRandom) -> Problem:
    word = rng.choice(WORDS)
    ordered = "".join(sorted(word))
    text = f"""
        prompt: Sort the letters of '{word}' alphabetically.
        prompt: Put the letters of '{word}' in order from a to z.
        setup: The letters of {word} are {_spelled(word)}.
        process: In alphabetical order: {_spelled(ordered)}.
        answer: Joined together: {ordered}.
    """
    return worked_problem(rng, text, ordered)


def count_letter(rng: SeededRandom) -> Problem:
    one, two = rng.sample(WORDS, 2)
    both = one + two
    letter = rng.choice(sorted({letter for letter in both if both.count(letter) > 1} or set(one)))
    in_one, in_two = one.count(letter), two.count(letter)
    text = f"""
        prompt: How many times does the letter '{letter}' occur in '{one} {two}'?
        prompt: Count the letter '{letter}' in the phrase '{one} {two}'.
        process: In {_spelled(one)} the letter occurs {in_one}×.
        process: In {_spelled(two)} the letter occurs {in_two}×.
        answer: {in_one} + {in_two} = {in_one + in_two}.
    """
    return worked_problem(rng, text, in_one + in_two)


def caesar_shift(rng: SeededRandom) -> Problem:
    word, shift = rng.choice(WORDS), rng.randint(2, 5)
    moved = "".join(_ALPHABET[(_ALPHABET.index(letter) + shift) % 26] for letter in word)
    pairs = ", ".join(f"{old} → {new}" for old, new in zip(word, moved, strict=True))
    text = f"""
        prompt: Shift each letter of '{word}' forward by {shift} in the alphabet (after z comes a).
        prompt: Encode '{word}' with a Caesar cipher that moves every letter {shift} places forward.
        setup: Every letter moves {shift} places forward; after z comes a.
        process: {pairs}.
        answer: Joined together: {moved}.
    """
    return worked_problem(rng, text, moved, "hard")


def palindrome(rng: SeededRandom) -> Problem:
    word = rng.choice([*_PALINDROMES, *WORDS[:14]])
    backwards = word[::-1]
    same = word == backwards
    text = f"""
        prompt: Is '{word}' a palindrome? Answer yes or no.
        prompt: Does '{word}' read the same backwards? (yes or no)
        process: Backwards, {_spelled(word)} becomes {_spelled(backwards)}.
        answer: {backwards} is {"the same as" if same else "different from"} {word}:
            {"yes" if same else "no"}.
    """
    return worked_problem(rng, text, "yes" if same else "no")


def alphabetise(rng: SeededRandom) -> Problem:
    words = rng.sample(WORDS, rng.randint(4, 5))
    ordered = sorted(words)
    text = f"""
        prompt: Put these words in alphabetical order: {", ".join(words)}.
        prompt: Sort alphabetically: {", ".join(words)}.
        setup: Their first letters are {listed([word[0] for word in words])}; equal ones are decided by the
            next letters.
        process: First comes {ordered[0]}, last comes {ordered[-1]}.
        answer: In order: {", ".join(ordered)}.
    """
    return worked_problem(rng, text, ", ".join(ordered))


def vowels_and_consonants(rng: SeededRandom) -> Problem:
    words = rng.sample(WORDS, 2)
    letters = "".join(words)
    vowels = [letter for letter in letters if letter in "aeiou"]
    rest = len(letters) - len(vowels)
    text = f"""
        prompt: How many more consonants than vowels are in '{words[0]}' and '{words[1]}' together?
        prompt: Count the consonants and the vowels of '{words[0]} {words[1]}'. By how many do they differ?
        setup: The words have {len(words[0])} + {len(words[1])} = {len(letters)} letters.
        process: The vowels are {"-".join(vowels)}: {len(vowels)} of them.
        process: The consonants: {len(letters)} - {len(vowels)} = {rest}.
        answer: {rest} - {len(vowels)} = {rest - len(vowels)}.
    """
    return worked_problem(rng, text, rest - len(vowels), "medium")


def acronym(rng: SeededRandom) -> Problem:
    words = rng.sample(WORDS, rng.randint(3, 5))
    short = "".join(word[0].upper() for word in words)
    text = f"""
        prompt: Make an acronym from the words: {" ".join(words)}.
        prompt: Take the first letter of each word of '{" ".join(words)}' and write them in capitals.
        process: First letters: {", ".join(f"{word[0]} from {word}" for word in words)}.
        answer: In capitals and joined: {short}.
    """
    return worked_problem(rng, text, short)


TEXT_WORK = families(
    "text", "synthetic",
    reverse_word, sort_letters, count_letter, caesar_shift, palindrome, alphabetise, vowels_and_consonants,
    acronym,
)  # fmt: skip


def repeat_word(rng: SeededRandom) -> Problem:
    word, times = rng.choice(WORDS), rng.randint(2, 5)
    answer = " ".join([word] * times)
    text = f"""
        prompt: Repeat the word '{word}' {times} times, separated by single spaces.
        process: Write {word} {times} times with one space between: {answer}.
        check: The line has {times} words, all of them {word}.
    """
    return worked_problem(rng, text, answer)


def count_word(rng: SeededRandom) -> Problem:
    wanted, *others = rng.sample(WORDS, 4)
    times = rng.randint(2, 4)
    line = rng.shuffled([wanted] * times + others)
    places = [ordinal(place) for place, word in enumerate(line, start=1) if word == wanted]
    text = f"""
        prompt: How many times does the word '{wanted}' appear in this line: {" ".join(line)}?
        process: Going through the words, {wanted} is the {listed(places)} word.
        answer: That makes {times}.
    """
    return worked_problem(rng, text, times)


def to_upper_case(rng: SeededRandom) -> Problem:
    words = " ".join(rng.sample(WORDS, 2))
    text = f"""
        prompt: Write '{words}' in upper case.
        process: Change each letter of '{words}' to its capital and keep the space.
        answer: The result is {words.upper()}.
    """
    return worked_problem(rng, text, words.upper())


def to_title_case(rng: SeededRandom) -> Problem:
    words = " ".join(rng.sample(WORDS, 3))
    text = f"""
        prompt: Capitalise the first letter of every word: {words}
        process: Only the first letter of each word of '{words}' becomes a capital.
        answer: The result is {words.title()}.
    """
    return worked_problem(rng, text, words.title())


def nth_word(rng: SeededRandom) -> Problem:
    words = rng.sample(WORDS, 6)
    place = rng.randint(2, 6)
    numbered = ", ".join(f"{n} {word}" for n, word in enumerate(words[:place], start=1))
    text = f"""
        prompt: What is the {ordinal(place)} word of '{" ".join(words)}'?
        process: Number the words: {numbered}.
        answer: Word number {place} is {words[place - 1]}.
    """
    return worked_problem(rng, text, words[place - 1])


def joined_with(rng: SeededRandom) -> Problem:
    words = rng.sample(WORDS, rng.randint(3, 4))
    name, separator = rng.choice(
        (("a hyphen", "-"), ("a semicolon", ";"), ("an underscore", "_"), ("a slash", "/"))
    )
    answer = separator.join(words)
    text = f"""
        prompt: Join the words {listed(words)} with {name} and no spaces.
        process: Keep the order {", ".join(words)} and put {separator} between neighbours.
        answer: The result is {answer}.
    """
    return worked_problem(rng, text, answer)


def replace_letter(rng: SeededRandom) -> Problem:
    word = rng.choice(WORDS)
    old = rng.choice(sorted(set(word)))
    answer = word.replace(old, "*")
    places = [ordinal(place) for place, letter in enumerate(word, start=1) if letter == old]
    text = f"""
        prompt: Replace every '{old}' in '{word}' with '*'.
        process: In {"-".join(word)}, '{old}' is the {listed(places)} letter.
        answer: With a star there: {answer}.
    """
    return worked_problem(rng, text, answer)


GOLDEN_STYLE = families(
    "formatting", "golden_style",
    repeat_word, count_word, to_upper_case, to_title_case, nth_word, joined_with, replace_letter,
)  # fmt: skip
