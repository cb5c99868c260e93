import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createNodeResolver, importX } from "eslint-plugin-import-x";

/**
 * Imports point one way, `api -> ui -> screens -> app`, and screens never import each other.
 *
 * @param {string} root the folder that holds `src`
 * @returns {import("eslint").Linter.Config}
 */
export function importRules(root) {
  return {
    // The plugin types its rules for typescript-eslint; ESLint itself takes them as they are.
    plugins: { "import-x": /** @type {import("eslint").ESLint.Plugin} */ (/** @type {unknown} */ (importX)) },
    settings: { "import-x/resolver-next": [createNodeResolver({ extensions: [".ts", ".tsx", ".js"] })] },
    rules: {
      "import-x/no-restricted-paths": ["error", { basePath: join(root, "src"), zones: zones(root) }],
    },
  };
}

/** @param {string} root */
function zones(root) {
  return [
    { target: "./api", from: ["./ui", "./features", "./app"] },
    { target: "./ui", from: ["./screens", "./app"] },
    { target: "./screens", from: ["./app"] },
    ...screenNames(root).map((name) => ({
      target: `./screens/${name}`,
      from: ["./screens"],
      except: [`./${name}`],
    })),
  ];
}

/** @param {string} root */
function screenNames(root) {
  const screens = join(root, "src", "screens");
  return existsSync(screens) ? readdirSync(screens) : [];
}
