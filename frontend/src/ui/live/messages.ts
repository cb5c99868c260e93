/** One server-sent event. */
export interface StreamMessage {
  event: string;
  /** The event id. Reconnecting with it resumes after this message. */
  id: string;
  data: string;
}

/** The messages of a stream, batched as they arrive. */
export async function* readMessages(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamMessage[]> {
  const [reader, decoder] = [body.getReader(), new TextDecoder()];
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = blocks.pop() ?? "";
    const messages = blocks.map(parseMessage).filter((message) => message !== null);
    if (messages.length > 0) yield messages;
  }
}

/** Parses a block of lines. Returns null for a keep-alive comment. */
export function parseMessage(block: string): StreamMessage | null {
  const fields = { event: "message", id: "", data: [] as string[] };
  for (const line of block.split("\n")) {
    const [name = "", ...rest] = line.split(":");
    const value = rest.join(":").replace(/^ /, "");
    if (name === "data") fields.data.push(value);
    if (name === "event" || name === "id") fields[name] = value;
  }
  return fields.data.length > 0 ? { ...fields, data: fields.data.join("\n") } : null;
}
