import { cleanup, configure } from "@testing-library/react";
import { afterAll, afterEach, beforeAll } from "vitest";
import { dismissAllToasts } from "../ui/feedback/toasts";
import { server } from "./http";

// The DOM of these tests has no layout: everything would be 0 pixels high, and a virtual list show nothing.
Object.defineProperties(prototypeWith("clientHeight"), {
  clientHeight: { get: () => 600, configurable: true },
  clientWidth: { get: () => 1_000, configurable: true },
});

// KaTeX asks for it, and refuses to work in a page that has no document type.
Object.defineProperty(document, "compatMode", { value: "CSS1Compat", configurable: true });

// Nor can they draw: a canvas takes every stroke and shows none.
Object.assign(Object.getPrototypeOf(document.createElement("canvas")) as object, { getContext: () => pen() });
Object.assign(globalThis, { Path2D: pen() });

// The tests share their modules (see vitest.config.ts): what one still loads at its end would be broken for the next.
const loadedLater = import.meta.glob(["../screens/**/*Screen.tsx", "../ui/{text/Formula,charts/CurveCanvas}.tsx"]);
await Promise.all(Object.values(loadedLater).map((load) => load()));

// A machine that has much to do takes its time.
configure({ asyncUtilTimeout: 15_000 });

beforeAll(() => {
  server.listen({ onUnhandledRequest: "error" });
});

afterEach(() => {
  cleanup();
  server.resetHandlers();
  localStorage.clear();
  // The tests share their modules, and this is the one that keeps something.
  dismissAllToasts();
});

afterAll(() => {
  server.close();
});

/** The prototype of every element: the global `HTMLElement` is a class of its own here. */
function prototypeWith(property: string): object {
  let found: object = document.createElement("div");
  while (!Object.hasOwn(found, property)) found = Object.getPrototypeOf(found) as object;
  return found;
}

/** Something that has every method and every number of a drawing. */
function pen(): object {
  const anything: object = new Proxy(
    function drawing() {
      /* a function can be called and constructed */
    },
    {
      get: (_, name) => (name === Symbol.toPrimitive ? () => 0 : anything),
      apply: () => anything,
      construct: () => anything,
      set: () => true,
    },
  );
  return anything;
}
