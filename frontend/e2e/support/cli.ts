import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const PYTHON = fileURLToPath(new URL("../../../.venv/bin/python", import.meta.url));

/** Runs a `tunix-rt` command in this home. */
export async function tunixRt(home: string, ...words: string[]): Promise<void> {
  const others = Object.entries(process.env).filter(([variable]) => !variable.startsWith("TUNIX_RT_"));
  await promisify(execFile)(PYTHON, ["-m", "tunix_rt.cli", ...words], {
    env: { ...Object.fromEntries(others), TUNIX_RT_HOME: home },
  });
}
