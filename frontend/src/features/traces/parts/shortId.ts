const NUM_SHOWN_CHARACTERS = 8;

/** The first characters of an id, enough to tell two traces apart. */
export function shortId(id: string): string {
  return id.slice(0, NUM_SHOWN_CHARACTERS);
}
