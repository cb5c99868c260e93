"""Checkers that run math-verify and reasoning-gym in a child process with limits."""

import multiprocessing
import os
import re
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import lru_cache, partial
from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeVar

from tunix_rt.datasets.types import EvalItem
from tunix_rt.evaluation.scoring.checkers.expressions import is_plain_number, parse
from tunix_rt.evaluation.scoring.checkers.numeric import number_of
from tunix_rt.evaluation.scoring.checkers.quantities import is_hedged
from tunix_rt.evaluation.scoring.checkers.text import (
    Checked,
    canonical_text,
    clean,
    plain,
    quoted,
    without_lead_in,
)

CPU_SECONDS = 5.0
"""CPU time for one answer, not wall time: a busy machine must not change a verdict."""
WALL_SECONDS = 300.0
"""Limit for a child that waits instead of computing."""
MEMORY_BYTES = 4 << 30

R = TypeVar("R")


class VerifierError(Exception):
    """The library could not decide; the message says why."""


class Verifier:
    """Runs functions in one child process, which is started on demand and restarted after it died."""

    def __init__(self, prepare: Callable[[], object]) -> None:
        self._prepare = prepare
        """Runs once in a new child: imports take seconds and must not count against the limits."""
        self._lock = threading.Lock()
        self._child: tuple[BaseProcess, Connection] | None = None

    def call(self, function: Callable[..., R], *arguments: object) -> R:
        """Call `function(*arguments)` in the child; arguments and result must be picklable.

        Raises:
            VerifierError: The function raised, or the child exceeded a limit.
        """
        with self._lock:
            connection = self._connection()
            try:
                connection.send((function, arguments))
                result, error = connection.recv()
            except (EOFError, OSError):
                self._kill_child()
                raise VerifierError(
                    f"needed more than {CPU_SECONDS:.0f} s of computing or {MEMORY_BYTES >> 30} GiB"
                ) from None
        if error:
            raise VerifierError(error)
        outcome: R = result
        return outcome

    def _connection(self) -> Connection:
        if self._child is None:
            context = multiprocessing.get_context("spawn")
            ours, theirs = context.Pipe()
            # Daemonic: it ends with this process, also in a pool worker.
            process = context.Process(target=_serve, args=(theirs, self._prepare), daemon=True)
            process.start()
            theirs.close()
            self._child = process, ours
            try:
                ours.recv()
            except EOFError:
                self._kill_child()
                raise VerifierError("its process did not start; what it printed says why") from None
        return self._child[1]

    def _kill_child(self) -> None:
        if self._child is not None:
            process, connection = self._child
            connection.close()
            process.kill()
            process.join()
        self._child = None


def _serve(connection: Connection, prepare: Callable[[], object]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    prepare()
    connection.send("ready")
    _limit_memory()
    sys.dont_write_bytecode = True
    sys.addaudithook(_refuse_side_effects)
    with ThreadPoolExecutor(1) as thread:
        while True:
            try:
                function, arguments = connection.recv()
            except EOFError:
                return
            _set_alarms(CPU_SECONDS, WALL_SECONDS)
            # A future captures any exception, and a library may raise anything.
            future = thread.submit(function, *arguments)
            error = future.exception()
            _set_alarms(0, 0)
            connection.send((None, f"{type(error).__name__}: {error}") if error else (future.result(), ""))


def _set_alarms(cpu_s: float, wall_s: float) -> None:
    """Unhandled signals end the process, even inside a single long multiplication."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, cpu_s)
        signal.setitimer(signal.ITIMER_REAL, wall_s)


def _limit_memory() -> None:
    """Limit memory beyond what is reserved already: with many cores, library threads reserve gigabytes."""
    if sys.platform != "win32":
        import resource

        statm = Path("/proc/self/statm")
        num_pages = int(statm.read_text().split()[0]) if statm.is_file() else 0
        _, allowed = resource.getrlimit(resource.RLIMIT_AS)
        limit = num_pages * os.sysconf("SC_PAGE_SIZE") + MEMORY_BYTES
        limit = limit if allowed == resource.RLIM_INFINITY else min(limit, allowed)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


_REFUSED = ("os.", "shutil.", "socket.", "subprocess.", "ctypes.", "pty.", "ftplib.", "urllib.")
_READ_ONLY = frozenset({"os.listdir", "os.scandir", "os.walk"})


def _refuse_side_effects(event: str, arguments: tuple[Any, ...]) -> None:
    """Some verifiers evaluate an answer as Python: it must not write files, start processes or connect."""
    writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & writes:
        raise PermissionError("an answer may not write files")
    if event.startswith(_REFUSED) and event not in _READ_ONLY:
        raise PermissionError(f"an answer may not do this: {event}")


VERSION = "1"
MATH_VERSION = "2"
MAX_CHARS = 500
_MAX_DEPTH = 20
_MAX_DIGITS = 100
_EXACT_DECIMALS = 15
_BIG_POWER = re.compile(r"(?:\^|\*\*)\s*[({]*\s*[-+]?(?:\d{4,}|[\w.]+\s*(?:\^|\*\*))|!\s*!|\d{4,}\s*!")
_LONG_DIGITS = re.compile(rf"\d{{{_MAX_DIGITS}}}")
_BRACES = re.compile(r"[({\[]|[)}\]]")
_FUNCTION = re.compile(r"(?<![\\A-Za-z])(sqrt|pi|sin|cos|tan|log|ln|exp|infty)(?![A-Za-z])")
_ROOT = re.compile(r"\\sqrt\s*\(([^()]*)\)")
_WORDS = re.compile(r"[^\W\d_]{2,}(?: [^\W\d_]+)*")
_SCIENTIFIC = re.compile(r"[-+]?[\d.,]+[eE][-+]?\d+")
_FORMULA = re.compile(r"(?<!\\)\$([^$]+)\$")
_DELIMITERS = re.compile(r"\\\(|\\\)|\\\[|\\\]|(?<!\\)\$")


def check_math(item: EvalItem, answer: str) -> Checked:
    r"""Whether the answer is mathematically equal to the expected one.

    Example:
        expected "2\sqrt{2}": "$\sqrt{8}$" -> right; "2.828" -> wrong
    """
    wanted = (item.expected_answer, *item.accepted_answers)
    expected, text = wanted[0], canonical_text(answer)
    value, numbers = _exact(answer), [_exact(other) for other in wanted]
    # These need no library: equal texts, plain numbers, and unreadable answers.
    if _compact(answer) in map(_compact, wanted) or (value is not None and value in numbers):
        return Checked(True, "math", f"{quoted(answer)} is {quoted(expected)}", canonical_text(expected))
    if value is not None and None not in numbers:
        return Checked(False, "math", f"{quoted(answer)} is not {quoted(expected)}", str(value))
    is_expression = None not in map(parse, (answer, *wanted))
    if not is_expression and {_is_set(answer), _is_set(expected)} == {True, False}:
        return Checked(False, "math", "a set is not a list, a point or an interval", text)
    if (problem := _unreadable(answer, is_expression)) is not None:
        return Checked(False, "math", f"the answer {problem}", text[:MAX_CHARS])
    try:
        is_right, parsed = _VERIFIER.call(_verify, wanted, answer)
    except VerifierError as error:
        return Checked(None, "math", f"math-verify failed: {quoted(str(error))}", None)
    relation = "equals" if is_right else "is not"
    canonical = canonical_text(expected) if is_right else parsed or text
    return Checked(is_right, "math", f"{quoted(answer)} {relation} {quoted(expected)}", canonical)


def check_readable(expected: str) -> Checked:
    """Whether math-verify can parse an expected answer; passes if the library is not installed."""
    if find_spec("math_verify") is None:
        return Checked(True, "math", "math-verify is not installed", None)
    try:
        is_right, parsed = _VERIFIER.call(_verify, (expected,), expected)
    except VerifierError as error:
        return Checked(False, "math", f"math-verify: {quoted(str(error))}", None)
    return Checked(is_right, "math", f"math-verify reads {parsed}", None)


def _is_set(text: str) -> bool | None:
    """Whether a text is in curly brackets (True) or other ones (False); None without brackets."""
    text = _DELIMITERS.sub("", clean(text)).removeprefix("\\left").strip()
    if text.startswith(("\\{", "{")):
        return True
    return False if text.startswith(("(", "[")) and "," in text else None


def _unreadable(answer: str, is_expression: bool) -> str | None:
    """Why an answer is not evaluated; None if it can be."""
    if len(answer) > MAX_CHARS:
        return f"has more than {MAX_CHARS} characters"
    # An expression has no words except those between the values of a list: `x = 1 or x = 2`.
    if not is_expression and is_hedged(answer):
        return "says more than one thing"
    if _BIG_POWER.search(answer) or _LONG_DIGITS.search(answer):
        return "has a number too large to compute"
    depths = accumulate(1 if bracket in "({[" else -1 for bracket in _BRACES.findall(answer))
    return "is nested too deeply" if max(depths, default=0) > _MAX_DEPTH else None


def _compact(text: str) -> str:
    """The text without spaces and delimiters; plain words in canonical form."""
    words = canonical_text(text)
    return words if _WORDS.fullmatch(words) else "".join(_DELIMITERS.sub("", clean(text)).split())


def _exact(text: str) -> Fraction | None:
    # Factorials and equations are left to the library: `y = 3` is not `x = 3`, and `2cos(x)` is not 2.
    statement = parse(text)
    is_number = statement is None or is_plain_number(statement) or _SCIENTIFIC.fullmatch(text.strip())
    return None if "!" in text or "=" in text or not is_number else number_of(text)


def _latex(text: str) -> str:
    if (value := _exact(text)) is not None:
        # A decimal would be compared in floating point, and equal the number that it approximates.
        return f"$\\frac{{{value.numerator}}}{{{value.denominator}}}$"
    text = without_lead_in(clean(text))
    formulas = _FORMULA.findall(text)
    # `the side is $\sqrt{2}$ units`: the only formula of a sentence is the answer.
    text = formulas[0] if len(formulas) == 1 else text
    text = _DELIMITERS.sub("", text).rstrip(" .").replace("**", "^")
    text = _ROOT.sub(r"\\sqrt{\1}", _FUNCTION.sub(r"\\\1", text))
    return f"${text}$"


def _verify(wanted: tuple[str, ...], answer: str) -> tuple[bool, str | None]:
    """Runs in the child: whether the answer equals an expected one, and its sympy form if not."""
    is_right = _evaluated(wanted, answer)
    if is_right:
        return True, None
    given = _parsed(_latex(answer))
    if is_right is None:
        golds = [_parsed(_latex(text)) for text in wanted]
        if not golds[0]:
            raise ValueError(f"the expected answer {wanted[0]!r} cannot be read")
        from math_verify import verify

        is_right = bool(given) and any(
            verify(gold, given, float_rounding=_EXACT_DECIMALS, timeout_seconds=None) for gold in golds
        )
    return is_right, str(given[0]) if given else None


def _evaluated(wanted: tuple[str, ...], answer: str) -> bool | None:
    """The verdict of evaluating both sides; None if one of them is outside that notation."""
    from tunix_rt.evaluation.scoring.checkers.equality import is_equal

    verdicts = {is_equal(text, answer) for text in wanted}
    return True if True in verdicts else None if None in verdicts else False


def _parsed(text: str) -> list[object]:
    from math_verify import LatexExtractionConfig, parse

    return list(parse(text, [LatexExtractionConfig()], fallback_mode="no_fallback", parsing_timeout=None))


def _prepare() -> None:
    import logging

    logging.getLogger("math_verify").setLevel(logging.CRITICAL)
    _verify(("1", "\\text{no}"), "\\text{two}")


_VERIFIER = Verifier(_prepare)
# Their verifiers pass the answer to Python's `eval` or to sympy's parser, which calls it.
EVALUATING_TASKS = frozenset({
    "binary_matrix", "countdown", "intermediate_integration", "n_queens", "polynomial_multiplication",
    "puzzle24", "simple_integration", "spiral_matrix", "string_insertion",
})  # fmt: skip
# Their verifiers compare with grids of tuples, which JSON stores as lists.
_TUPLE_TASKS = frozenset({"arc_agi", "rearc"})
_FUNCTIONS = "sqrt|exp|log|ln|sin|cos|tan|asin|acos|atan|sinh|cosh|tanh|sec|csc|cot|Abs|pi"
_PROGRAM = re.compile(
    rf"__|\b(?!(?:{_FUNCTIONS})\b)[^\W\d]\w+\s*\(|[\w)\]]\s*\.\s*[^\W\d]|\d\s*\*\*\s*\(?\d{{3}}|=|:|\blambda\b"
)


def check_task(item: EvalItem, answer: str) -> Checked:
    """Whether the verifier of the task returns 1.0; anything less is wrong.

    Example:
        a chain_sum entry with answer "7": "7" -> right; "The answer is 7" -> right; "8" -> wrong
    """
    assert item.task is not None  # the item's own validator
    text = without_lead_in(answer.strip())
    # Verifiers do not handle LaTeX or a Unicode minus, and some need the answer unchanged.
    spellings = tuple(dict.fromkeys((text, plain(text))))
    canonical = canonical_text(text)
    if item.task.name in EVALUATING_TASKS and _PROGRAM.search(text):
        return Checked(False, "task", "the answer is not an expression or a table", canonical)
    try:
        score = _TASK_VERIFIER.call(_score, item.task.name, item.task.entry, spellings)
    except VerifierError as error:
        return Checked(None, "task", f"{item.task.name}'s verifier failed: {quoted(str(error))}", None)
    return Checked(score == 1.0, "task", f"{item.task.name}'s verifier gives {score:g} of 1", canonical)


def _score(name: str, entry: dict[str, Any], spellings: tuple[str, ...]) -> float:
    """Runs in the child."""
    entry = _tuples(entry) if name in _TUPLE_TASKS else entry
    return max(float(_dataset(name).score_answer(answer, entry)) for answer in spellings)


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _tuples(inner) for key, inner in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


@lru_cache(maxsize=128)
def _dataset(name: str) -> Any:
    import reasoning_gym

    return reasoning_gym.create_dataset(name, size=1, seed=0)


_TASK_VERIFIER = Verifier(partial(import_module, "reasoning_gym"))
