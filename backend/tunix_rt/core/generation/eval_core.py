"""The core section of the eval set: everyday skills, one short answer each. Written by hand."""

from tunix_rt.core.evalset import Difficulty

Row = tuple[str, Difficulty, str, str]
"""(category, difficulty, prompt, expected answer)"""

CORE: tuple[Row, ...] = (
    ("arithmetic", "easy", "Seventeen plus twenty-six is what number? Reply in digits.", "43"),
    ("arithmetic", "easy", "Compute 9 times 14.", "126"),
    ("arithmetic", "easy", "Take 58 off 200 and give the result.", "142"),
    ("arithmetic", "easy", "If 144 is cut into 6 equal parts, how big is one part?", "24"),
    ("arithmetic", "medium", "Calculate 4,075 minus 1,988.", "2087"),
    ("arithmetic", "medium", "Calculate 608 times 47.", "28576"),
    ("arithmetic", "medium", "Give the exact value of 7.2 divided by 0.9.", "8"),
    ("arithmetic", "medium", "Which number do you get from 3 cubed plus 4 cubed?", "91"),
    ("arithmetic", "medium", "Subtract 2.85 from 10 and give a decimal number.", "7.15"),
    ("arithmetic", "medium", "Simplify 18 - (5 - 9) to a single number.", "22"),
    ("arithmetic", "hard", "Compute 1/2 - 1/3 + 1/4 and give one fraction in lowest terms.", "5/12"),
    ("arithmetic", "hard", "Compute 987 times 654.", "645498"),
    (
        "word_problem", "easy",
        "Nadia picked 34 lemons before lunch and 19 after lunch. How many lemons did she pick that "
            "day?", "53",
    ),
    (
        "word_problem", "easy",
        "A cinema row seats 18 people. How many people can sit in 7 such rows?", "126",
    ),
    (
        "word_problem", "easy",
        "Theo opened a novel at page 61 and stopped at the end of page 97. How many pages did he read, "
        "counting both of those pages?", "37",
    ),
    (
        "word_problem", "medium",
        "A 5-litre canister is used to fill cups of 250 millilitres. How many cups can be filled?", "20",
    ),
    (
        "word_problem", "medium",
        "Pencils come in packs of 12. A teacher needs 100 pencils. How many packs must she buy?", "9",
    ),
    (
        "word_problem", "medium",
        "A parking garage charges $4 for the first hour and $2.50 for each hour after it. What does a stay "
        "of exactly 6 hours cost, in dollars?", "16.50",
    ),
    (
        "word_problem", "medium",
        "Omar's phone was at 80 percent. It lost 7 percentage points every hour for 5 hours and then gained "
        "30 while charging. At what percentage is it?", "75",
    ),
    (
        "word_problem", "medium",
        "Three quarters of the 48 seats on a tram are taken. At the next stop 9 riders leave and 4 board. "
        "How many seats are taken then?", "31",
    ),
    (
        "word_problem", "hard",
        "A snail at the bottom of a 10-metre well climbs 3 metres each day and slips back 2 metres each "
        "night. On which day does it reach the top?", "8",
    ),
    (
        "word_problem", "hard",
        "Fresh grapes are 80 percent water and raisins are 10 percent water, by weight. How many kilograms "
        "of fresh grapes give 4 kilograms of raisins?", "18",
    ),
    ("geometry", "easy", "How many corners does a cube have?", "8"),
    ("geometry", "easy", "Every side of a regular hexagon is 9 cm. What is its perimeter in cm?", "54"),
    ("geometry", "medium", "A square has a perimeter of 52 inches. What is its area in square "
        "inches?", "169"),
    ("geometry", "medium", "What is the sum, in degrees, of the interior angles of a pentagon?", "540"),
    (
        "geometry", "hard",
        "The edges of a cube are doubled. By which factor does its volume grow?", "8",
    ),
    (
        "geometry", "hard",
        "A right triangle has a hypotenuse of 61 and one leg of 11. How long is the other leg?", "60",
    ),
    ("formatting", "easy", "Write the word 'marathon' with all its vowels removed.", "mrthn"),
    ("formatting", "easy", "Give the date 4 July 1999 in the form YYYY-MM-DD.", "1999-07-04"),
    ("formatting", "medium", "Write one million two hundred thousand fifty in digits, without "
        "separators.", "1200050"),
    ("formatting", "medium", "Write the last three letters of 'notebook' in reverse order.", "koo"),
    ("formatting", "medium", "Turn the phrase 'deep blue sea' into camelCase.", "deepBlueSea"),
    ("formatting", "hard", "Write the initials of 'Wolfgang Amadeus Mozart' in lower case, joined by "
        "dots.", "w.a.m"),
    ("knowledge", "easy", "Which planet of our solar system is closest to the Sun?", "Mercury"),
    ("knowledge", "easy", "What is the capital of Portugal?", "Lisbon"),
    ("knowledge", "easy", "Which gas do plants take from the air for photosynthesis? Answer with its "
        "formula.", "CO2"),
    ("knowledge", "medium", "What is the chemical symbol of sodium?", "Na"),
    ("knowledge", "medium", "Who wrote the play 'Hamlet'? Give the last name.", "Shakespeare"),
    ("knowledge", "medium", "In which year did the first people land on the Moon?", "1969"),
    ("conversion", "easy", "How many seconds are in a quarter of an hour?", "900"),
    ("conversion", "easy", "How many millimetres long is a 3.4 cm nail?", "34"),
    ("conversion", "medium", "A speed of 90 km/h is how many metres per second?", "25"),
    ("conversion", "medium", "How many square centimetres are in 2 square metres?", "20000"),
    ("conversion", "hard", "At 14 US dollars for 10 British pounds, how many pounds do 91 dollars "
        "buy?", "65"),
    ("number_theory", "easy", "Name the smallest prime number that is greater than 50.", "53"),
    ("number_theory", "medium", "How many positive divisors does 36 have?", "9"),
    ("number_theory", "medium", "What remainder does 1,000 leave on division by 37?", "1"),
    ("number_theory", "hard", "What is the last digit of 7 to the power of 100?", "1"),
    ("pattern", "easy", "Which letter continues the row A, C, E, G?", "I"),
    ("pattern", "medium", "Which number continues the row 1, 4, 9, 16, 25?", "36"),
    ("pattern", "hard", "Which number continues the row 2, 3, 5, 9, 17, 33?", "65"),
    ("statistics", "easy", "What is the most frequent value in 4, 7, 4, 9, 7, 4, 1?", "4"),
    ("statistics", "medium", "What is the median of 12, 3, 8 and 5? Give a decimal number.", "6.5"),
    (
        "statistics", "hard",
        "Ten numbers average 15. One of them, 33, is removed. What is the average of the other nine?", "13",
    ),
    ("probability", "medium", "Two fair coins are tossed. How likely are two heads, as a fraction?", "1/4"),
    (
        "probability", "hard",
        "Two fair six-sided dice are rolled. How likely is a total of 9, as a fraction in lowest "
            "terms?", "1/9",
    ),
    ("algebra", "easy", "Which number, doubled and then reduced by 7, gives 19?", "13"),
    ("algebra", "medium", "If 5(n - 3) = 45, what is n?", "12"),
    ("algebra", "hard", "The product of two consecutive positive whole numbers is 182. Which is the "
        "smaller?", "13"),
)  # fmt: skip
