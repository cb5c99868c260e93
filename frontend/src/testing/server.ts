import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";

const PYTHON = fileURLToPath(new URL("../../../.venv/bin/python", import.meta.url));
const START_LIMIT_MS = 60_000;
const STOP_LIMIT_MS = 5_000;

declare module "vitest" {
  interface ProvidedContext {
    serverUrl: string;
  }
}

export interface RunningServer {
  url: string;
  home: string;
  stop: () => Promise<void>;
}

/** Starts a real server for the tests and stops it afterwards. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const { url, stop } = await startServer();
  project.provide("serverUrl", url);
  return stop;
}

/** A real server with its own empty home. Stopping it removes both. */
export async function startServer(): Promise<RunningServer> {
  if (!existsSync(PYTHON)) throw new Error("No .venv with the server found. Run: make test");
  const home = await mkdtemp(join(tmpdir(), "tunix-rt-frontend-"));
  const url = `http://127.0.0.1:${await freePort()}`;
  const server = spawnServer(new URL(url).port, home);
  const stop = async () => {
    await stopServer(server);
    await rm(home, { recursive: true, force: true });
  };
  try {
    await waitUntilHealthy(server, url);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, home, stop };
}

function spawnServer(port: string, home: string): ChildProcess {
  const isSetting = (name: string): boolean => name.startsWith("TUNIX_RT_") && name !== "TUNIX_RT_WEB_DIR";
  const ours = Object.entries(process.env).filter(([name]) => !isSetting(name));
  const server = spawn(PYTHON, ["-m", "tunix_rt.cli", "up", "--no-browser", "--port", port], {
    env: { ...Object.fromEntries(ours), TUNIX_RT_HOME: home, TUNIX_RT_LOG_LEVEL: "warning" },
    stdio: ["ignore", "ignore", "inherit"],
  });
  // Also clean up when the tests are interrupted.
  process.once("exit", () => {
    server.kill("SIGKILL");
    rmSync(home, { recursive: true, force: true });
  });
  return server;
}

/** A free TCP port. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  if (address === null || typeof address === "string") throw new Error("No TCP port is free.");
  return address.port;
}

async function waitUntilHealthy(server: ChildProcess, url: string): Promise<void> {
  const deadline = Date.now() + START_LIMIT_MS;
  while (Date.now() < deadline) {
    if (server.exitCode !== null) throw new Error(`The server exited with code ${server.exitCode}.`);
    if (await isHealthy(url)) return;
    await sleep(100);
  }
  throw new Error(`The server did not answer within ${START_LIMIT_MS / 1000} s.`);
}

function isHealthy(url: string): Promise<boolean> {
  return fetch(`${url}/api/health`).then(
    (response) => response.ok,
    () => false,
  );
}

async function stopServer(server: ChildProcess): Promise<void> {
  if (server.pid === undefined || server.exitCode !== null) return;
  const ended = once(server, "exit");
  server.kill("SIGTERM");
  const firmly = setTimeout(() => server.kill("SIGKILL"), STOP_LIMIT_MS);
  await ended;
  clearTimeout(firmly);
}
