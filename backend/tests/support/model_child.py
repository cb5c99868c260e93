"""A fake model process without a model, run as a child. The last message selects its behaviour.

python model_child.py NAME     NAME `broken` cannot be loaded, `fading` exits without output, `stuck` never
                               finishes loading

Imports only the standard library, so that it starts quickly. The messages are those of `serving.wire`.
"""

import json
import os
import sys
from typing import Any


def send(kind: str, **values: Any) -> None:
    sys.stdout.write(json.dumps({"kind": kind, **values}) + "\n")
    sys.stdout.flush()


def answer(request: dict[str, Any], waiting: list[int]) -> None:
    number, content = request["order_id"], request["messages"][-1]["content"]
    if content == "refuse":
        error = {"detail": "It cannot be read.", "next_step": "Send another.", "code": "bad-data"}
        send("failed", order_id=number, **error)
        return
    send("begun", order_id=number, num_prompt_tokens=3)
    send("said", order_id=number, choice=0, content="well, ")
    if content == "die":
        sys.stderr.write("first line\nRuntimeError: the device is gone\n")
        sys.stderr.flush()
        os._exit(9)
    if content == "babble":
        sys.stdout.write("Loading… 100 %\n")
        sys.stdout.flush()
    elif content == "wait":
        waiting.append(number)
    else:
        reply = {"echo": content, "who waits?": str(len(waiting)), "who are you?": str(os.getpid())}[content]
        send("said", order_id=number, choice=0, content=reply, num_tokens=2, finish="stop")


def main(name: str) -> None:
    if name == "broken":
        send("failed", detail="The weights are damaged.", next_step="Copy them again.", code="bad-data")
    elif name == "stuck":
        sys.stdin.read()
    elif name != "fading":
        waiting: list[int] = []
        send("ready", device="none")
        for line in sys.stdin:
            request = json.loads(line)
            if request["kind"] == "drop":
                waiting.remove(request["order_id"])
            else:
                answer(request, waiting)


if __name__ == "__main__":
    main(sys.argv[1])
