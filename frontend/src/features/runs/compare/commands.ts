import { shellQuoted, type Snippets } from "../../../ui/copy/snippets";
import type { COMPARE_TABS } from "./search";

/** The comparison as commands: one line per run, or `compare` for two evaluated runs. */
export function compareSnippets(
  runIds: readonly string[],
  tab: (typeof COMPARE_TABS)[number],
  origin = location.origin,
): Snippets {
  const [base, other] = runIds;
  const isPair = tab === "scores" && base !== undefined && other !== undefined && runIds.length === 2;
  if (isPair) {
    return {
      ...everyRun(runIds, origin, "/evaluation"),
      cli: `tunix-rt compare ${shellQuoted(base)} ${shellQuoted(other)}`,
    };
  }
  return everyRun(runIds, origin, { curves: "/metrics", scores: "/evaluation", settings: "" }[tab]);
}

function everyRun(runIds: readonly string[], origin: string, part: string): Snippets {
  if (runIds.length === 0) {
    const url = `${origin}/api/tunix/runs`;
    return { cli: "tunix-rt runs list", curl: `curl ${url}`, python: pythonLines(`httpx.get("${url}")`) };
  }
  const urls = runIds.map((runId) => `${origin}/api/tunix/runs/${runId}${part}`);
  return {
    cli: runIds.map((runId) => `tunix-rt runs show ${shellQuoted(runId)}`).join("\n"),
    curl: urls.map((url) => `curl ${shellQuoted(url)}`).join("\n"),
    python: `import httpx\n\nfor url in ${JSON.stringify(urls)}:\n    print(httpx.get(url).raise_for_status().json())`,
  };
}

function pythonLines(call: string): string {
  return `import httpx\n\nprint(${call}.raise_for_status().json())`;
}
