const PLAIN = /^[A-Za-z_./@][\w./@ -]*$/;
const RESERVED = /^(true|false|null|yes|no|on|off|~)$/i;

/**
 * Renders sections, lists and values as YAML, which covers recipes.
 *
 * @example
 * toYaml({ data: { row_length: 64 } }) // "data:\n  row_length: 64\n"
 */
export function toYaml(values: Record<string, unknown>, indent = ""): string {
  return Object.entries(values)
    .map(([key, value]) => {
      if (isSection(value)) return `${indent}${key}:\n${toYaml(value, `${indent}  `)}`;
      return `${indent}${key}: ${scalar(value)}\n`;
    })
    .join("");
}

function isSection(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;
}

function scalar(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(scalar).join(", ")}]`;
  const isPlain = typeof value === "string" && PLAIN.test(value) && !RESERVED.test(value);
  return isPlain ? value : JSON.stringify(value ?? null);
}
