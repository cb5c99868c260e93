/** The same request in three formats. */
export interface Snippets {
  /** The command line. */
  cli: string;
  curl: string;
  python: string;
}

interface RequestLike {
  cli: string;
  method?: "GET" | "POST" | "PUT" | "DELETE";
  /** Path and query of the request. */
  path: string;
  body?: unknown;
}

/**
 * Builds the snippets of a screen from its command and its request.
 *
 * @example
 * snippets({ cli: "tunix-rt runs list --status failed", path: "/api/tunix/runs?status=failed" })
 */
export function snippets({ cli, method = "GET", path, body }: RequestLike, origin = location.origin): Snippets {
  const url = `${origin}${path}`;
  const json = body === undefined ? null : JSON.stringify(body);
  const sent = json === null ? "" : ` -H 'content-type: application/json' -d ${shellQuoted(json)}`;
  const call = `httpx.${method.toLowerCase()}(${JSON.stringify(url)}${json === null ? "" : `, json=${pythonOf(body)}`})`;
  return {
    cli,
    curl: `curl${method === "GET" ? "" : ` -X ${method}`}${sent} ${shellQuoted(url)}`,
    python: `import httpx\n\nresponse = ${call}\nresponse.raise_for_status()\nprint(response.json())`,
  };
}

/** Quotes a word for the shell if needed. */
export function shellQuoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

function pythonOf(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(pythonOf).join(", ")}]`;
  if (typeof value === "object") {
    const entries = Object.entries(value).filter(([, item]) => item !== undefined);
    return `{${entries.map(([key, item]) => `${JSON.stringify(key)}: ${pythonOf(item)}`).join(", ")}}`;
  }
  return JSON.stringify(value);
}
