import type { ChatMessage, ChatRequest } from "../../api/schema.gen";
import { shellQuoted, type Snippets, snippets } from "../../ui/copy/snippets";
import type { ChatSearch } from "./search";

export const DEFAULT_TOKENS = 256;

/** The decoding settings in the URL. */
export type Decoding = Pick<ChatSearch, "temperature" | "tokens">;

/** The chat request. Temperature 0 is greedy decoding. */
export function requestOf(model: string, messages: ChatMessage[], { temperature, tokens }: Decoding): ChatRequest {
  return { model, messages, temperature: temperature ?? 0, max_tokens: tokens ?? DEFAULT_TOKENS };
}

/** The chat as commands, with an example question if there is none. */
export function chatSnippets(model: string, question: string, decoding: Decoding): Snippets {
  const asked = question === "" ? "What is 17 + 25?" : question;
  const request = requestOf(model, [{ role: "user", content: asked }], decoding);
  const options = `--temperature ${request.temperature ?? 0} --max-tokens ${request.max_tokens ?? DEFAULT_TOKENS}`;
  const cli = `tunix-rt chat ${shellQuoted(model)} --prompt ${shellQuoted(asked)} ${options}`;
  return snippets({ cli, method: "POST", path: "/v1/chat/completions", body: request });
}
