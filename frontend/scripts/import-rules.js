import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createNodeResolver, importX } from "eslint-plugin-import-x";

/**
 * Imports point one way: `api -> ui -> features -> app`. A feature may use the requests (`queries.ts`) and the
 * `shared/` folder of another feature, but nothing else of it.
 *
 * @param {string} root the folder that holds `src`
 * @returns {import("eslint").Linter.Config}
 */
export function importRules(root) {
  return {
    // The plugin types its rules for typescript-eslint; ESLint accepts them as they are.
    plugins: { "import-x": /** @type {import("eslint").ESLint.Plugin} */ (/** @type {unknown} */ (importX)) },
    settings: { "import-x/resolver-next": [createNodeResolver({ extensions: [".ts", ".tsx", ".js"] })] },
    rules: {
      "import-x/no-restricted-paths": ["error", { basePath: join(root, "src"), zones: zones(root) }],
    },
  };
}

/** @param {string} root */
function zones(root) {
  const features = featureNames(root);
  const open = features.flatMap((name) => [`./${name}/queries.ts`, `./${name}/queries.js`, `./${name}/shared`]);
  return [
    { target: "./api", from: ["./ui", "./features", "./app"] },
    { target: "./ui", from: ["./features", "./app"] },
    { target: "./features", from: ["./app"] },
    ...features.map((name) => ({ target: `./features/${name}`, from: ["./features"], except: [`./${name}`, ...open] })),
  ];
}

/** @param {string} root */
function featureNames(root) {
  const features = join(root, "src", "features");
  return existsSync(features) ? readdirSync(features) : [];
}
