import { asCount, asFlag, asNumber, asText, searchParams } from "../../ui/navigation/search";

/** The chat settings, as in the URL. */
export const chatSearch = searchParams({
  model: asText,
  /** The second model of a blind comparison. */
  other: asText,
  blind: asFlag,
  temperature: asNumber,
  tokens: asCount,
});

export type ChatSearch = ReturnType<typeof chatSearch>;
