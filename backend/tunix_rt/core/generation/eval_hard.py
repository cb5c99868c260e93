"""The other sections of the eval set: questions that need working, and odd input. Written by hand."""

from tunix_rt.core.generation.eval_core import Row

TRACE_SENSITIVE: tuple[Row, ...] = (
    (
        "word_problem", "medium",
        "A library lends 120 books on Monday, a quarter fewer on Tuesday, and on Wednesday as many as on the "
        "first two days together. How many books does it lend over the three days?", "420",
    ),
    (
        "word_problem", "medium",
        "Mei cuts a 6-metre ribbon into pieces of 35 cm. How many centimetres of ribbon are left after the "
        "last full piece?", "5",
    ),
    (
        "word_problem", "medium",
        "A printer makes 24 pages a minute, but after every 5 minutes of printing it must cool for 1 minute. "
        "How many pages are printed in the first 17 minutes?", "360",
    ),
    (
        "word_problem", "hard",
        "A coat is marked up by 20 percent and then the new price is cut by 20 percent. It started at $50. "
        "What does it cost in the end, in dollars?", "48",
    ),
    (
        "word_problem", "hard",
        "Lena is 4 years older than Max. Five years ago she was exactly twice as old as he was. How old is "
        "Lena today?", "13",
    ),
    (
        "word_problem", "hard",
        "Candle A is 24 cm tall and burns down 2 cm an hour. Candle B is 30 cm tall and burns down 3 cm an "
        "hour. Both are lit together. After how many hours are they equally tall?", "6",
    ),
    (
        "word_problem", "hard",
        "A jar has twice as many dimes (10 cents) as quarters (25 cents), and no other coins. The coins are "
        "worth $6.75. How many coins are in the jar?", "45",
    ),
    (
        "word_problem", "medium",
        "A ferry carries 14 cars or 6 trucks per crossing, never both. How many crossings are needed for 50 "
        "cars and 20 trucks?", "8",
    ),
    (
        "word_problem", "hard",
        "Water lilies on a pond double their area every day and cover the whole pond on day 30. On which day "
        "do they cover a quarter of it?", "28",
    ),
    (
        "word_problem", "medium",
        "A choir of 60 has 2 altos for every 3 sopranos and nobody else. How many more sopranos than altos "
        "are there?", "12",
    ),
    ("arithmetic", "medium", "Start with 5. Double it, add 8, halve the result, subtract 5. What is "
        "left?", "4"),
    ("arithmetic", "hard", "Add all the odd numbers from 1 to 39.", "400"),
    ("arithmetic", "hard", "Compute 3 × (17 - 4 × 3) - 48 ÷ (2 + 6).", "9"),
    ("arithmetic", "hard", "How many digits does the product 25 × 25 × 25 × 64 have?", "7"),
    (
        "logic", "medium",
        "Ana, Bo and Cy finish a race. Bo is not first. Cy comes in right after Ana. Who is last?", "Bo",
    ),
    (
        "logic", "hard",
        "Exactly one of these is true. X: 'Y is lying.' Y: 'Z is lying.' Z: 'X and Y are both lying.' "
            "Who tells "
        "the truth, X, Y or Z?", "Y",
    ),
    (
        "logic", "medium",
        "No reptile has fur. Some pets have fur. Must there be a pet that is not a reptile? Reply yes "
            "or no.", "yes",
    ),
    (
        "logic", "hard",
        "In a drawer lie 10 black and 10 grey socks. How many must you take in the dark to be certain of two "
        "socks of one colour?", "3",
    ),
    (
        "geometry", "medium",
        "A 4 by 6 photograph has a border 1 wide on every side. What is the area of the border alone?", "24",
    ),
    (
        "geometry", "hard",
        "A cube painted red on the outside is cut into 27 equal small cubes. How many of them have exactly "
        "two red faces?", "12",
    ),
    (
        "algebra", "medium",
        "Three pens and two erasers cost $9. One pen and two erasers cost $5. How many dollars does one "
        "pen cost?", "2",
    ),
    (
        "algebra", "hard",
        "A two-digit number is 4 times the sum of its digits, and its digits differ by 3. What is the "
            "number?", "36",
    ),
    (
        "probability", "hard",
        "A family has three children, each a boy or a girl with equal chance. How likely is at least one "
        "girl, as a fraction?", "7/8",
    ),
    (
        "number_theory", "hard",
        "Which is the smallest positive whole number that leaves remainder 1 when divided by 2, by 3 and "
        "by 5, and is greater than 1?", "31",
    ),
    (
        "statistics", "medium",
        "After four matches a team averages 2.5 goals. It scores 5 in the fifth. What is the average "
            "over all "
        "five matches?", "3",
    ),
)  # fmt: skip

EDGE_CASE: tuple[Row, ...] = (
    ("arithmetic", "easy", "0 × 98765 = ?", "0"),
    ("arithmetic", "easy", "What is minus eight plus three? Reply in digits.", "-5"),
    ("arithmetic", "medium", "123456789 + 987654321", "1111111110"),
    ("arithmetic", "easy", "2+2", "4"),
    ("arithmetic", "medium", "What is 5 divided by 8 as an exact decimal?", "0.625"),
    ("formatting", "easy", "🍎🍐🍎🍎🍐 How many 🍎 are in this row?", "3"),
    ("formatting", "easy", "Answer with the second line only.\nnorth\nsouth\neast", "south"),
    ("formatting", "medium", "What is the third character of the string 'a\"b\\c'?", "b"),
    ("formatting", "medium", "How many letters are in the word 'naïveté'?", "7"),
    ("formatting", "hard", "Copy this exactly, including its punctuation: Yes; no - "
        "maybe?", "Yes; no - maybe?"),
    ("pattern", "medium", "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, … What is the 1000th number?", "1"),
    (
        "word_problem", "medium",
        "Kim, who is 31, drives a blue van with 4 wheels for 12 years. On Tuesday, in light rain, at "
            "7:45, Kim "
        "buys 3 loaves at $2 each. How many dollars do the loaves cost?", "6",
    ),
    (
        "word_problem", "medium",
        "There are 15 birds on a wire. A loud bang scares all of them away. How many birds are on the "
            "wire?", "0",
    ),
    ("number_theory", "medium", "Do mathematicians count 1 among the primes? Reply yes or no.", "no"),
    ("conversion", "medium", "Wie viele Minuten hat ein Tag? Antworte nur mit der Zahl.", "1440"),
)  # fmt: skip
