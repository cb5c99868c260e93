import { useEffect, useRef, useState } from "react";
import type { ChatMessage } from "../../api/schema.gen";
import { readStored, writeStored } from "../../ui/hooks/useStored";
import { type Answer, askModel, EMPTY_ANSWER } from "./answer";
import { type Decoding, requestOf } from "./settings";

/** A question and its answer. */
export interface Turn {
  question: string;
  answer: Answer;
}

interface Conversation {
  turns: Turn[];
  /** The turn in progress. */
  pending: Turn | null;
  error: Error | null;
  ask: (question: string) => void;
  stop: () => void;
  clear: () => void;
}

/** A conversation with a model, stored in this browser. */
export function useConversation(model: string, decoding: Decoding): Conversation {
  const key = `chat.${model}`;
  const [turns, setTurns] = useState(() => storedTurns(key));
  const [pending, setWriting] = useState<Turn | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const abortRef = useRef<AbortController | null>(null);
  useEffect(() => () => abortRef.current?.abort(), []);
  const saveTurns = (next: Turn[]): void => {
    setTurns(next);
    writeStored(key, next.length === 0 ? null : JSON.stringify(next));
  };
  const ask = async (question: string): Promise<void> => {
    const controller = new AbortController();
    abortRef.current = controller;
    let answer = EMPTY_ANSWER;
    const show = (withChunk: Answer): void => {
      answer = withChunk;
      setWriting({ question, answer });
    };
    setError(null);
    show(EMPTY_ANSWER);
    try {
      await askModel(requestOf(model, messagesOf(turns, question), decoding), controller.signal, show);
    } catch (failure) {
      // A stopped answer is kept as far as it got.
      if (!controller.signal.aborted) setError(failure as Error);
    }
    if (answer !== EMPTY_ANSWER) saveTurns([...turns, { question, answer }]);
    setWriting(null);
  };
  return {
    turns,
    pending,
    error,
    ask: (question) => void ask(question),
    stop: () => abortRef.current?.abort(),
    clear: () => {
      saveTurns([]);
    },
  };
}

/** The messages sent to the model. Earlier answers are sent without reasoning, like most clients do. */
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
