import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "../../api/client";
import type { NewPreference, Preference, PreferenceList } from "../../api/schema.gen";

const NUM_SHOWN = 20;

/** The download path of all votes as preference pairs. */
export const PREFERENCES_FILE = "/api/preferences/export.jsonl";

/** The latest votes, and the tallies of all votes per pair of models. */
export const preferencesQuery = queryOptions({
  queryKey: ["preferences"],
  queryFn: (): Promise<PreferenceList> =>
    unwrap(api.GET("/api/preferences", { params: { query: { limit: NUM_SHOWN } } })),
});

/** Save which of two answers was preferred. */
export function savePreference(body: NewPreference): Promise<Preference> {
  return unwrap(api.POST("/api/preferences", { body }));
}

export async function removePreference(voteId: string): Promise<void> {
  await unwrap(api.DELETE("/api/preferences/{vote_id}", { params: { path: { vote_id: voteId } } }));
}
