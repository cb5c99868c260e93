/** One message of a server-sent stream. */
export interface StreamMessage {
  event: string;
  /** The place right behind it: who comes back with it gets what was missed. */
  id: string;
  data: string;
}

/** The messages of a stream, in the batches that the network brought. */
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

/** A block of lines as a message; null for one that only keeps the connection open. */
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
