import { useEffect, useRef, useState } from "react";
import type { Candidate, NewPreference } from "../../../api/schema.gen";
import { type Answer, askModel, EMPTY_ANSWER } from "../answer";
import { type Decoding, requestOf } from "../settings";

export type Models = readonly [string, string];

/** One question to two models in random order. */
export interface Round {
  question: string;
  /** The models of the left and right answers. */
  models: Models;
  answers: readonly [Answer, Answer];
  state: "pending" | "written" | "failed";
}

interface BlindRound {
  round: Round | null;
  error: Error | null;
  ask: (question: string) => void;
  stop: () => void;
}

/** Asks both models the same question, one after the other, because a server may only load one model at a time. */
export function useBlindRound(models: Models, decoding: Decoding): BlindRound {
  const [round, setRound] = useState<Round | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const abortRef = useRef<AbortController | null>(null);
  useEffect(() => () => abortRef.current?.abort(), []);
  const ask = async (question: string): Promise<void> => {
    const controller = new AbortController();
    abortRef.current = controller;
    let current: Round = {
      question,
      models: shuffled(models),
      answers: [EMPTY_ANSWER, EMPTY_ANSWER],
      state: "pending",
    };
    const show = (changes: Partial<Round>): void => {
      current = { ...current, ...changes };
      setRound(current);
    };
    setError(null);
    show({});
    const request = (model: string) => requestOf(model, [{ role: "user", content: question }], decoding);
    try {
      await askModel(request(current.models[0]), controller.signal, (left) => {
        show({ answers: [left, EMPTY_ANSWER] });
      });
      await askModel(request(current.models[1]), controller.signal, (right) => {
        show({ answers: [current.answers[0], right] });
      });
      show({ state: "written" });
    } catch (failure) {
      if (!controller.signal.aborted) setError(failure as Error);
      show({ state: "failed" });
    }
  };
  return { round, error, ask: (question) => void ask(question), stop: () => abortRef.current?.abort() };
}

/** The vote on a round as a request. */
export function voteOn({ question, models, answers }: Round, choice: NewPreference["choice"]): NewPreference {
  return {
    messages: [{ role: "user", content: question }],
    a: candidate(models[0], answers[0]),
    b: candidate(models[1], answers[1]),
    choice,
  };
}

function candidate(model: string, { content, reasoning }: Answer): Candidate {
  return { model, content, ...(reasoning !== "" && { reasoning_content: reasoning }) };
}

function shuffled([one, other]: Models): Models {
  return Math.random() < 0.5 ? [one, other] : [other, one];
}
