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

test("a link gives back the filters that made it", () => {
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

test("what a link cannot mean is left out", () => {
  expect(read({ text: "", status: ["gone"], order: 3, offset: -1, min_score: "x", all: "no", tag: [] })).toEqual({});
});

test("a number that was searched for is text, and one value alone is a list", () => {
  expect(read({ text: 42, status: "running", tag: "a" })).toEqual({ text: "42", status: ["running"], tag: ["a"] });
});

test("an emptied filter leaves the URL", () => {
  const change = withChanges<{ text?: string; status?: string[]; all?: boolean }>({ text: "", status: [], all: false });
  expect(change({ text: "old", status: ["queued"], all: true })).toEqual({});
});

test("other filters stay when one is changed", () => {
  expect(withChanges<{ text?: string; page?: number }>({ text: "new" })({ text: "old", page: 2 })).toEqual({
    text: "new",
    page: 2,
  });
});
