import { useEffect, useRef, useState } from "react";
import type { ChatMessage } from "../../api/schema.gen";
import { readStored, writeStored } from "../../ui/stored";
import { type Answer, askModel, NOTHING } from "./answer";
import { type Decoding, requestOf } from "./settings";

/** A question and what came of it. */
export interface Turn {
  question: string;
  answer: Answer;
}

interface Conversation {
  turns: Turn[];
  /** The turn that is being written. */
  writing: Turn | null;
  error: Error | null;
  ask: (question: string) => void;
  stop: () => void;
  clear: () => void;
}

/** A conversation with a model; this browser keeps it over a reload. */
export function useConversation(model: string, decoding: Decoding): Conversation {
  const key = `chat.${model}`;
  const [turns, setTurns] = useState(() => storedTurns(key));
  const [writing, setWriting] = useState<Turn | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const asking = useRef<AbortController | null>(null);
  useEffect(() => () => asking.current?.abort(), []);
  const keep = (kept: Turn[]): void => {
    setTurns(kept);
    writeStored(key, kept.length === 0 ? null : JSON.stringify(kept));
  };
  const ask = async (question: string): Promise<void> => {
    const controller = new AbortController();
    asking.current = controller;
    let answer = NOTHING;
    const show = (grown: Answer): void => {
      answer = grown;
      setWriting({ question, answer });
    };
    setError(null);
    show(NOTHING);
    try {
      await askModel(requestOf(model, messagesOf(turns, question), decoding), controller.signal, show);
    } catch (failure) {
      // What is stopped stays as far as it came.
      if (!controller.signal.aborted) setError(failure as Error);
    }
    if (answer !== NOTHING) keep([...turns, { question, answer }]);
    setWriting(null);
  };
  return {
    turns,
    writing,
    error,
    ask: (question) => void ask(question),
    stop: () => asking.current?.abort(),
    clear: () => {
      keep([]);
    },
  };
}

/** What the model reads: earlier answers without their reasoning, as most clients send them. */
export function messagesOf(turns: readonly Turn[], question: string): ChatMessage[] {
  const earlier = turns.flatMap((turn): ChatMessage[] => [
    { role: "user", content: turn.question },
    { role: "assistant", content: turn.answer.content },
  ]);
  return [...earlier, { role: "user", content: question }];
}

function storedTurns(key: string): Turn[] {
  const stored = readStored(key);
  return stored === null ? [] : (JSON.parse(stored) as Turn[]);
}
