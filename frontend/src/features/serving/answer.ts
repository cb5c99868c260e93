import { completionError, openCompletion } from "./queries";
import type { ChatCompletion, ChatRequest } from "../../api/schema.gen";
import { readMessages } from "../../ui/live/messages";

/** The answer generated so far. */
export interface Answer {
  reasoning: string;
  content: string;
  /** Known when the answer is complete. */
  numTokens: number | null;
  /** Whether the token limit was reached. */
  isCutOff: boolean;
}

/** A token delta of a streamed completion. OpenAPI does not describe streamed chunks. */
export interface Chunk {
  choices: {
    delta: Partial<ChatCompletion["choices"][number]["message"]>;
    finish_reason?: ChatCompletion["choices"][number]["finish_reason"];
  }[];
  usage?: ChatCompletion["usage"];
}

export const EMPTY_ANSWER: Answer = { reasoning: "", content: "", numTokens: null, isCutOff: false };
const DONE = "[DONE]";
const STREAM_BROKE = 503;

/** Streams a completion and calls `onAnswer` as it grows. Returns the complete answer or throws an `ApiError`. */
export async function askModel(
  request: ChatRequest,
  signal: AbortSignal,
  onAnswer: (answer: Answer) => void,
): Promise<Answer> {
  let answer = EMPTY_ANSWER;
  const body = await openCompletion(request, signal);
  for await (const messages of readMessages(body)) {
    for (const { data } of messages) answer = data === DONE ? answer : withChunk(answer, JSON.parse(data) as Chunk);
    onAnswer(answer);
  }
  return answer;
}

/** Adds a chunk to the answer. Throws an error sent in the stream. */
export function withChunk(answer: Answer, chunk: Chunk | { error: unknown }): Answer {
  if ("error" in chunk) throw completionError(chunk, STREAM_BROKE);
  const choice = chunk.choices[0];
  return {
    reasoning: answer.reasoning + (choice?.delta.reasoning_content ?? ""),
    content: answer.content + (choice?.delta.content ?? ""),
    numTokens: chunk.usage?.completion_tokens ?? answer.numTokens,
    isCutOff: answer.isCutOff || choice?.finish_reason === "length",
  };
}
