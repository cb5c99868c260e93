import { completionError, openCompletion } from "./queries";
import type { ChatCompletion, ChatRequest } from "../../api/schema.gen";
import { readMessages } from "../../ui/live/messages";

/** What a model has written so far. */
export interface Answer {
  reasoning: string;
  content: string;
  /** Known at its end. */
  numTokens: number | null;
  /** It reached the limit of tokens. */
  isCutOff: boolean;
}

/** A piece of a stream: the message of a completion, bit by bit. OpenAPI describes whole answers only. */
export interface Chunk {
  choices: {
    delta: Partial<ChatCompletion["choices"][number]["message"]>;
    finish_reason?: ChatCompletion["choices"][number]["finish_reason"];
  }[];
  usage?: ChatCompletion["usage"];
}

export const NOTHING: Answer = { reasoning: "", content: "", numTokens: null, isCutOff: false };
const DONE = "[DONE]";
const STREAM_BROKE = 503;

/** Ask a model; `onAnswer` gets the answer as it grows. The whole answer, or an `ApiError`. */
export async function askModel(
  request: ChatRequest,
  signal: AbortSignal,
  onAnswer: (answer: Answer) => void,
): Promise<Answer> {
  let answer = NOTHING;
  const body = await openCompletion(request, signal);
  for await (const messages of readMessages(body)) {
    for (const { data } of messages) answer = data === DONE ? answer : grown(answer, JSON.parse(data) as Chunk);
    onAnswer(answer);
  }
  return answer;
}

/** The answer with a chunk added; an error in the stream is thrown. */
export function grown(answer: Answer, chunk: Chunk | { error: unknown }): Answer {
  if ("error" in chunk) throw completionError(chunk, STREAM_BROKE);
  const choice = chunk.choices[0];
  return {
    reasoning: answer.reasoning + (choice?.delta.reasoning_content ?? ""),
    content: answer.content + (choice?.delta.content ?? ""),
    numTokens: chunk.usage?.completion_tokens ?? answer.numTokens,
    isCutOff: answer.isCutOff || choice?.finish_reason === "length",
  };
}
