type Reader<Value> = (raw: unknown) => Value | undefined;
type Search<Readers extends Record<string, Reader<unknown>>> = {
  [Key in keyof Readers]?: NonNullable<ReturnType<Readers[Key]>>;
};

/**
 * Parses filters from the URL. Invalid values are ignored, so an edited link still opens.
 *
 * @example
 * validateSearch: searchParams({ text: asText, status: asManyOf(RUN_STATUSES), page: asCount })
 */
export function searchParams<Readers extends Record<string, Reader<unknown>>>(
  readers: Readers,
): (raw: Record<string, unknown>) => Search<Readers> {
  return (raw) => {
    const read = Object.entries(readers).map(([key, reader]) => [key, reader(raw[key])] as const);
    // Object.fromEntries loses the type of each key, which `readers` provides.
    return Object.fromEntries(read.filter(([, value]) => value !== undefined)) as Search<Readers>;
  };
}

/** Non-empty text. Numbers and booleans in the URL are converted. */
export function asText(raw: unknown): string | undefined {
  if (typeof raw === "number" || typeof raw === "boolean") return String(raw);
  return typeof raw === "string" && raw !== "" ? raw : undefined;
}

export function asNumber(raw: unknown): number | undefined {
  const value = typeof raw === "string" && raw !== "" ? Number(raw) : raw;
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** A non-negative integer. */
export function asCount(raw: unknown): number | undefined {
  const value = asNumber(raw);
  return value !== undefined && Number.isInteger(value) && value >= 0 ? value : undefined;
}

/** True or undefined: a flag that is off is left out of the URL. */
export function asFlag(raw: unknown): true | undefined {
  return raw === true || raw === "true" || raw === 1 ? true : undefined;
}

export function asOneOf<const Choice extends string>(choices: readonly Choice[]): Reader<Choice> {
  return (raw) => choices.find((choice) => choice === raw);
}

/** Any of the choices, in their order, without duplicates. */
export function asManyOf<const Choice extends string>(choices: readonly Choice[]): Reader<Choice[]> {
  return (raw) => {
    const given = asTexts(raw) ?? [];
    const known = choices.filter((choice) => given.includes(choice));
    return known.length > 0 ? known : undefined;
  };
}

/** A list of texts without duplicates. A single text needs no brackets. */
export function asTexts(raw: unknown): string[] | undefined {
  const texts = (Array.isArray(raw) ? raw : [raw]).map(asText).filter((text) => text !== undefined);
  return texts.length > 0 ? [...new Set(texts)] : undefined;
}

/**
 * Applies changes to the search. Empty values are removed from the URL.
 *
 * @example
 * void navigate({ search: withChanges({ text }), replace: true });
 */
export function withChanges<Params extends object>(
  changes: Partial<{ [Key in keyof Params]: Params[Key] | undefined }>,
) {
  return (old: Params): Params => {
    const merged = Object.entries({ ...old, ...changes });
    return Object.fromEntries(merged.filter(([, value]) => !isEmpty(value))) as Params;
  };
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === "" || value === false || (Array.isArray(value) && value.length === 0);
}
