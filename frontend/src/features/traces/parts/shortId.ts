const SHOWN_CHARACTERS = 8;

/** The first characters of an id: enough to tell two traces apart by eye. */
export function shortId(id: string): string {
  return id.slice(0, SHOWN_CHARACTERS);
}
