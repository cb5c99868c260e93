"""Chat rows: `messages`, ShareGPT `conversations`, and prompt/completion in both their forms.

A trace is one exchange. `[system] user assistant` is accepted, the system text folded into the prompt above
a blank line (`meta.system_folded`); a longer conversation is refused, because a trace has no place for it.
"""

from typing import Any

from tunix_rt.core.formats.rows import (
    Row,
    RowError,
    Solution,
    kind_of,
    optional_text_of,
    rest_of,
    solved,
    text_of,
)
from tunix_rt.core.formats.solutions import solution_with_reasoning, split_solution
from tunix_rt.core.trace import Trace

ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "model": "assistant",
    "chatgpt": "assistant",
}
REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")
MESSAGE_KEYS = ("role", "content", *REASONING_KEYS)


def trace_from_messages(row: Row) -> Trace:
    """`{"messages": [{"role", "content"}, …]}`, with `reasoning_content` and lists of text parts."""
    prompt, solution = _one_exchange(_messages_under(row, "messages"))
    return solved(prompt, solution, rest_of(row, ["messages"]))


def trace_from_sharegpt(row: Row) -> Trace:
    """`{"conversations": [{"from", "value"}, …]}`, optionally with a `system` text beside them."""
    turns = row.get("conversations")
    if not isinstance(turns, list):
        raise RowError(f"'conversations' must be a list, not {kind_of(turns)}")
    messages = [_message_of_turn(turn) for turn in turns]
    if system := optional_text_of(row, "system"):
        messages.insert(0, {"role": "system", "content": system})
    prompt, solution = _one_exchange(messages)
    return solved(prompt, solution, rest_of(row, ["conversations", "system"]))


def trace_from_prompt_completion(row: Row) -> Trace:
    """`{"prompt", "completion"}` as two texts, or as two lists of messages."""
    if isinstance(row.get("prompt"), list):
        messages = _messages_under(row, "prompt") + _messages_under(row, "completion")
        prompt, solution = _one_exchange(messages)
    else:
        prompt, solution = text_of(row, "prompt"), split_solution(text_of(row, "completion"))
    return solved(prompt, solution, rest_of(row, ["prompt", "completion"]))


def folded(system: str, prompt: str) -> str:
    """The system text above the prompt, with a blank line between."""
    return f"{system}\n\n{prompt}" if system else prompt


def _messages_under(row: Row, key: str) -> list[dict[str, Any]]:
    messages = row.get(key)
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise RowError(f"{key!r} must be a list of messages")
    return list(messages)


def _message_of_turn(turn: object) -> dict[str, Any]:
    if not isinstance(turn, dict):
        raise RowError(f"a turn of 'conversations' must be an object, not {kind_of(turn)}")
    if extra := rest_of(turn, ["from", "value"]):
        raise RowError(f"a turn has {next(iter(extra))!r}, which a trace cannot hold")
    return {"role": turn.get("from"), "content": turn.get("value")}


def _one_exchange(messages: list[dict[str, Any]]) -> tuple[str, Solution]:
    roles = [_role_of(message) for message in messages]
    if roles not in (["user", "assistant"], ["system", "user", "assistant"]):
        raise RowError(_why_not_one_exchange(roles))
    system = _content_of(messages[0]) if roles[0] == "system" else ""
    prompt, solution = _content_of(messages[-2]), _solution_of(messages[-1])
    if not system.strip():
        return prompt, solution
    notes = {"system_folded": True}
    return folded(system, prompt), Solution(solution.steps, solution.final_answer, solution.rule, notes)


def _why_not_one_exchange(roles: list[str]) -> str:
    if roles.count("assistant") > 1 or roles.count("user") > 1:
        return f"more than one exchange ({len(roles)} messages); give one row for each question and its reply"
    return f"must be [system] user assistant, but is {' '.join(roles) or 'empty'}"


def _role_of(message: dict[str, Any]) -> str:
    role = message.get("role")
    if not isinstance(role, str) or role not in ROLES:
        raise RowError(f"role {role!r} cannot be part of a trace; known: {', '.join(ROLES)}")
    if extra := rest_of(message, MESSAGE_KEYS):
        key, value = next(iter(extra.items()))
        if value != []:
            raise RowError(f"a message has {key!r}, which a trace cannot hold")
    return ROLES[role]


def _content_of(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "".join(_text_of_part(part) for part in content)
    if not isinstance(content, str):
        raise RowError(f"the {message['role']} message must be text, not {kind_of(content)}")
    return content


def _text_of_part(part: object) -> str:
    if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str):
        return str(part["text"])
    raise RowError("a message has a part that is not text")


def _solution_of(message: dict[str, Any]) -> Solution:
    reasonings = [key for key in REASONING_KEYS if message.get(key)]
    if len(reasonings) > 1:
        raise RowError(f"a message has both {reasonings[0]!r} and {reasonings[1]!r}")
    reasoning = optional_text_of(message, reasonings[0]) if reasonings else ""
    return solution_with_reasoning(reasoning, _content_of(message))
