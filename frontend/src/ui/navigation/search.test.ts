import { expect, test } from "vitest";
import { asCount, asFlag, asManyOf, asNumber, asOneOf, asText, asTexts, searchParams, withChanges } from "./search";

const read = searchParams({
  text: asText,
  status: asManyOf(["queued", "running"]),
  order: asOneOf(["newest", "best"]),
  offset: asCount,
  min_score: asNumber,
  all: asFlag,
  tag: asTexts,
});

test("filters survive a round trip through the URL", () => {
  const filters = {
    text: "train",
    status: ["queued"],
    order: "best",
    offset: 20,
    min_score: 0.5,
    all: true,
    tag: ["a"],
  };
  expect(read(filters)).toEqual(filters);
});

test("invalid parameters are ignored", () => {
  expect(read({ text: "", status: ["gone"], order: 3, offset: -1, min_score: "x", all: "no", tag: [] })).toEqual({});
});

test("numbers become text and single values lists", () => {
  expect(read({ text: 42, status: "running", tag: "a" })).toEqual({ text: "42", status: ["running"], tag: ["a"] });
});

test("an emptied filter is removed from the URL", () => {
  const change = withChanges<{ text?: string; status?: string[]; all?: boolean }>({ text: "", status: [], all: false });
  expect(change({ text: "old", status: ["queued"], all: true })).toEqual({});
});

test("changing one filter keeps the others", () => {
  expect(withChanges<{ text?: string; page?: number }>({ text: "new" })({ text: "old", page: 2 })).toEqual({
    text: "new",
    page: 2,
  });
});
