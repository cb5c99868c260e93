"""Twenty hand-written traces with unusual shapes: what a pipeline must carry without harm."""

from tunix_rt.core.generation.family import Worked

_LONG_LIST = ", ".join(str(number) for number in range(1, 301))

EDGE_CASES: tuple[Worked, ...] = (
    Worked("What is 6 × 7?", (("calculation", "6 × 7 = 42."),), "42"),
    Worked("31415926", (("reading", "The prompt is one number, 31415926, with 8 digits."),), "31415926"),
    Worked(
        "?",
        (("reading", "The prompt holds only a question mark, so there is nothing to solve."),),
        "No question was asked.",
    ),
    Worked(
        "🙂🙃🙂🙂 How many 🙂 are there?",
        (("counting", "The 1st, 3rd and 4th symbols are 🙂."), ("answer", "That makes 3.")),
        "3",
    ),
    Worked(
        "¿Cuánto es 15 − 9? Answer in digits.",
        (("reading", "The question, in Spanish, asks for 15 minus 9."), ("calculation", "15 - 9 = 6.")),
        "6",
    ),
    Worked(
        "Translate '水' (Chinese) to English.",
        (("recall", "The character 水 means water."), ("answer", "The English word is water.")),
        "water",
    ),
    Worked(
        f"How many numbers are in this list? {_LONG_LIST}",
        (
            ("reading", "The list starts at 1, ends at 300 and leaves out no whole number."),
            ("calculation", "300 - 1 + 1 = 300."),
        ),
        "300",
    ),
    Worked(
        "First line\nSecond line\n\nFourth line\nWhich line number is empty?",
        (
            ("reading", "Lines 1, 2 and 4 have text."),
            ("answer", "The line between the 2nd and the 4th is empty: line 3."),
        ),
        "3",
    ),
    Worked(
        "What stands between the quotes in \"she said 'go'\"? Answer with the inner word only.",
        (("reading", "The inner quotes hold the word go."),),
        "go",
    ),
    Worked(
        "Which path separator does Windows use, / or \\?",
        (
            ("recall", "Windows paths look like C:\\Users, with a backslash."),
            ("answer", "It is the backslash: \\."),
        ),
        "\\",
    ),
    Worked(
        "What is 4 - 11?",
        (
            ("calculation", "11 - 4 = 7, and 4 is smaller than 11, so the result is negative."),
            ("answer", "4 - 11 = -7."),
        ),
        "-7",
    ),
    Worked("What is 12 - 12?", (("calculation", "12 - 12 = 0."),), "0"),
    Worked(
        "What is 2 divided by 6, as a fraction in lowest terms?",
        (("setup", "2 ÷ 6 is the fraction 2/6."), ("answer", "Divide both by 2: 2/6 = 1/3.")),
        "1/3",
    ),
    Worked(
        "Which city is called the 'Big Apple'?",
        (("recall", "The 'Big Apple' is a nickname of New York City."),),
        "New York City",
    ),
    Worked(
        "Finish the saying: 'Better late than …'",
        (("recall", "The saying goes: better late than never."), ("answer", "With its full stop: never.")),
        "Never.",
    ),
    Worked(
        "Count down from 12 to 1.",
        tuple(("counting", f"Say {number}.") for number in range(12, 0, -1)),
        "12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1",
        "medium",
    ),
    Worked(
        "What is 1000000 × 1000000?",
        (
            ("setup", "Each factor is a 1 with 6 zeros, and the zeros add up: 6 + 6 = 12."),
            ("answer", "1000000 × 1000000 = 1000000000000."),
        ),
        "1000000000000",
        "medium",
    ),
    Worked(
        "Give the JSON object with the key 'n' and the value 3 × 5.",
        (("calculation", "3 × 5 = 15."), ("answer", 'The object is {"n": 15}.')),
        '{"n": 15}',
        "medium",
    ),
    Worked(
        "Is the statement 'all even numbers are divisible by 4' true? Answer yes or no.",
        (
            ("counterexample", "6 is even, and 6 = 4 × 1 + 2, so 4 does not divide it."),
            ("answer", "One counterexample is enough: no."),
        ),
        "no",
        "medium",
    ),
    Worked(
        "  How   much is   8 + 5 ?  ",
        (("reading", "The extra spaces do not change the question."), ("calculation", "8 + 5 = 13.")),
        "13",
    ),
)
