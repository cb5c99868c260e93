import eslint from "@eslint/js";
import { defineConfig, globalIgnores } from "eslint/config";
import jsxA11y from "eslint-plugin-jsx-a11y";
import reactHooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";
import { importRules } from "./scripts/import-rules.js";

export default defineConfig(
  globalIgnores(["**/*.gen.ts", "coverage", "test-results"]),
  eslint.configs.recommended,
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  reactHooks.configs.flat["recommended-latest"],
  jsxA11y.flatConfigs.strict,
  {
    linterOptions: { reportUnusedDisableDirectives: "error" },
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/explicit-module-boundary-types": "error",
      "@typescript-eslint/no-unused-vars": ["error", { ignoreRestSiblings: true }],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "max-lines": ["error", 400],
      "max-lines-per-function": ["error", { max: 60, skipComments: true }],
      "no-console": "error",
    },
  },
  {
    // tsc also checks JavaScript: it knows the globals and reads types from JSDoc.
    files: ["**/*.js"],
    rules: { "@typescript-eslint/explicit-module-boundary-types": "off", "no-undef": "off" },
  },
  { files: ["scripts/**", "bench/**"], rules: { "no-console": "off" } },
  // The type of query options is inferred from the key and the fetcher; an explicit annotation would lose it.
  {
    files: ["src/api/**", "src/features/**/{queries,plans,tasks,metrics,preferences}.ts"],
    rules: { "@typescript-eslint/explicit-module-boundary-types": "off" },
  },
  // Playwright's `use` provides a fixture.
  { files: ["e2e/**"], rules: { "react-hooks/rules-of-hooks": "off" } },
  importRules(import.meta.dirname),
);
