"""Deduction, truth tables, orderings, sets."""

from itertools import pairwise

from tunix_rt.problems.family import NAMES, Problem, SeededRandom, families, listed, row, worked_problem

# (members of a kind, the kind they belong to, what every member of that kind does, the rule turned around)
_KINDS = (
    ("sparrows", "birds", "have feathers", "everything with feathers is a sparrow"),
    ("trout", "fish", "have gills", "everything with gills is a trout"),
    ("oaks", "trees", "have roots", "everything with roots is an oak"),
    ("spaniels", "dogs", "have four legs", "everything with four legs is a spaniel"),
    ("violins", "string instruments", "have strings", "everything with strings is a violin"),
    ("squares", "rectangles", "have four right angles", "every shape with four right angles is a square"),
    ("beetles", "insects", "have six legs", "everything with six legs is a beetle"),
    ("tulips", "flowers", "need water", "everything that needs water is a tulip"),
    ("sonnets", "poems", "have lines", "everything that has lines is a sonnet"),
    ("kayaks", "boats", "can float", "everything that can float is a kayak"),
    ("emeralds", "gemstones", "are minerals", "every mineral is an emerald"),
    ("pythons", "snakes", "have scales", "everything with scales is a python"),
)
_RULES = (
    ("it rains", "the street is wet"),
    ("the alarm rings", "the dog barks"),
    ("the switch is on", "the lamp is lit"),
    ("the oven is hot", "the bread rises"),
    ("the gate is open", "the sheep walk out"),
    ("the wind blows", "the mill turns"),
    ("the battery is empty", "the phone is off"),
    ("the tide is high", "the causeway is flooded"),
)
_TRAITS = (
    ("taller", "tallest", "shortest"),
    ("older", "oldest", "youngest"),
    ("faster", "fastest", "slowest"),
)


def syllogism(rng: SeededRandom) -> Problem:
    members, kind, trait, turned_around = rng.choice(_KINDS)
    valid = rng.chance(50)
    claim = f"all {members} {trait}" if valid else turned_around
    question = f"Does it follow that {claim}? Answer yes or no."
    follows = f"Take any of the {members}: it belongs to the {kind}, and all of those {trait}."
    turned = f"The rules lead from {members} to {kind} and on to the property, never back from the property."
    verdict = "the conclusion follows: yes" if valid else "the conclusion does not follow: no"
    text = f"""
        prompt: All {members} are {kind}. All {kind} {trait}. {question}
        prompt: Given: all {kind} {trait}, and all {members} are {kind}. {question}
        given: All {members} are {kind}, and all {kind} {trait}.
        deduction: {follows if valid else turned}
        answer: So {verdict}.
    """
    return worked_problem(rng, text, "yes" if valid else "no", "medium")


def conditional(rng: SeededRandom) -> Problem:
    cause, effect = rng.choice(_RULES)
    not_cause, not_effect = f"it is not true that {cause}", f"it is not true that {effect}"
    cases = (
        (cause, effect, "yes", f"The rule says that {effect} whenever {cause}, and that is the case."),
        (not_effect, not_cause, "yes", f"If {cause}, then {effect}; but the second part is not true."),
        (effect, cause, "no", f"The rule gives one reason why {effect}; there may be another."),
        (not_cause, not_effect, "no", f"The rule is silent then: there may be another reason why {effect}."),
    )
    fact, claim, verdict, reason = rng.choice(cases)
    text = f"""
        prompt: If {cause}, then {effect}. We know: {fact}. Can we be sure of this: {claim}? Answer yes or no.
        prompt: Rule: whenever {cause}, {effect}. Fact: {fact}. Must this be true: {claim}? (yes or no)
        given: The rule: if {cause}, then {effect}. The fact: {fact}.
        deduction: {reason}
        answer: So the answer is {verdict}.
    """
    return worked_problem(rng, text, verdict, "hard")


def truth_value(rng: SeededRandom) -> Problem:
    p, q, r = (rng.chance(50) for _ in range(3))
    inner_is_or, outer_is_and = rng.chance(50), rng.chance(50)
    inner = (p or q) if inner_is_or else (p and q)
    negated = not r
    value = (inner and negated) if outer_is_and else (inner or negated)
    inner_text = f"P {'or' if inner_is_or else 'and'} Q"
    outer = "and" if outer_is_and else "or"
    text = f"""
        prompt: P is {_word(p)}, Q is {_word(q)} and R is {_word(r)}. Is '({inner_text}) {outer} not R' true
            or false?
        prompt: Evaluate '({inner_text}) {outer} not R' for P = {_word(p)}, Q = {_word(q)}, R = {_word(r)}.
        deduction: '{inner_text}' joins {_word(p)} and {_word(q)} with '{"or" if inner_is_or else "and"}': it
            is {_word(inner)}.
        deduction: R is {_word(r)}, so 'not R' is {_word(negated)}.
        answer: {_word(inner).capitalize()} {outer} {_word(negated)} is {_word(value)}.
    """
    return worked_problem(rng, text, _word(value), "medium")


def _word(value: bool) -> str:
    return "true" if value else "false"


def ordering_people(rng: SeededRandom) -> Problem:
    people = rng.sample(NAMES, rng.randint(4, 5))
    more, most, least = rng.choice(_TRAITS)
    facts = [f"{a} is {more} than {b}" for a, b in pairwise(people)]
    wants_most = rng.chance(50)
    answer = people[0] if wants_most else people[-1]
    clues = f"{'. '.join(rng.shuffled(facts))}."
    text = f"""
        prompt: {clues} Who is the {most if wants_most else least}?
        setup: Join the comparisons into one chain.
        deduction: From {most} to {least}: {", ".join(people)}.
        answer: The {most if wants_most else least} is {answer}.
    """
    return worked_problem(rng, text, answer, "medium")


def who_owns_what(rng: SeededRandom) -> Problem:
    people = rng.sample(NAMES, 3)
    pets = rng.sample(("cat", "dog", "parrot", "rabbit", "turtle", "hamster"), 3)
    a, b, c = people
    text = f"""
        prompt: {a}, {b} and {c} each own one pet: {_pets(pets)}. {a} owns the {pets[0]}. {b} does not own the
            {pets[2]}. Which pet does {c} own?
        prompt: A {pets[0]}, a {pets[1]} and a {pets[2]} belong to {a}, {b} and {c}, one each. The {pets[0]}
            is {a}'s, and {b} has no {pets[2]}. What does {c} have?
        deduction: {a} owns the {pets[0]}, so {b} and {c} own the {pets[1]} and the {pets[2]}.
        deduction: {b} does not own the {pets[2]}, so {b} owns the {pets[1]}.
        answer: The {pets[2]} is left for {c}.
    """
    return worked_problem(rng, text, pets[2], "medium")


def _pets(pets: list[str]) -> str:
    return listed([f"a {pet}" for pet in sorted(pets)])


def set_operation(rng: SeededRandom) -> Problem:
    left, right = (sorted(rng.sample(range(1, 16), rng.randint(4, 6))) for _ in range(2))
    common = [n for n in left if n in right]
    operation = rng.choice(("intersection", "union", "difference") if common else ("union", "difference"))
    result = {
        "intersection": common,
        "union": sorted(set(left) | set(right)),
        "difference": [n for n in left if n not in right] or left,
    }[operation]
    if operation == "difference" and not set(left) - set(right):
        operation, result = "union", sorted(set(left) | set(right))
    asked = {
        "intersection": "are in both A and B",
        "union": "are in A or in B (or in both)",
        "difference": "are in A but not in B",
    }[operation]
    both = f"The numbers in both sets: {row(common)}." if common else "No number is in both sets."
    text = f"""
        prompt: A = {{{row(left)}}} and B = {{{row(right)}}}. Which numbers {asked}? List them in rising
            order.
        given: A holds {row(left)}; B holds {row(right)}.
        deduction: {both}
        answer: The numbers that {asked}: {row(result)}.
    """
    return worked_problem(rng, text, row(result), "medium")


LOGIC = families(
    "logic", "synthetic",
    syllogism, conditional, truth_value, ordering_people, who_owns_what, set_operation,
)  # fmt: skip
