// Writes src/api/schema.gen.ts from the routes of the Python app. With --check it only reports whether it is stale.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import openapiTS, { astToString, COMMENT_HEADER } from "openapi-typescript";

const python = fileURLToPath(new URL("../../.venv/bin/python", import.meta.url));
const target = new URL("../src/api/schema.gen.ts", import.meta.url);

const types = await generatedTypes();
if (!process.argv.includes("--check")) {
  writeFileSync(target, types);
} else if (readFileSync(target, "utf8") !== types) {
  fail("frontend/src/api/schema.gen.ts is stale. Run: make client");
}

async function generatedTypes() {
  const nodes = await openapiTS(openapiDocument(), {
    // Fields with a default are optional in requests.
    defaultNonNullable: false,
    rootTypes: true,
    rootTypesNoSchemaPrefix: true,
  });
  return COMMENT_HEADER + astToString(nodes);
}

function openapiDocument() {
  const { status, stdout, error } = spawnSync(python, ["-m", "tunix_rt.api.openapi"], {
    encoding: "utf8",
    maxBuffer: 2 ** 26,
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (error) fail(`${python} could not be started (${error.message}). Run: make client`);
  if (status !== 0) fail("The Python app failed to print its OpenAPI document; see above.");
  return stdout;
}

/**
 * @param {string} message
 * @returns {never}
 */
function fail(message) {
  console.error(message);
  process.exit(1);
}
