import { cleanup, configure } from "@testing-library/react";
import { afterAll, afterEach, beforeAll } from "vitest";
import { dismissAllToasts } from "../ui/feedback/toasts";
import { server } from "./http";

// happy-dom has no layout: elements would be 0 pixels high and a virtual list would render nothing.
Object.defineProperties(prototypeWith("clientHeight"), {
  clientHeight: { get: () => 600, configurable: true },
  clientWidth: { get: () => 1_000, configurable: true },
});

// KaTeX checks it and refuses to run in a page without a doctype.
Object.defineProperty(document, "compatMode", { value: "CSS1Compat", configurable: true });

// happy-dom has no canvas, so drawing calls do nothing.
Object.assign(Object.getPrototypeOf(document.createElement("canvas")) as object, { getContext: () => pen() });
Object.assign(globalThis, { Path2D: pen() });

// Tests share modules (see vitest.config.ts), so lazy modules are loaded up front: a test must not end while one is loading.
const loadedLater = import.meta.glob(["../features/**/*Screen.tsx", "../ui/{markdown/Formula,charts/CurveCanvas}.tsx"]);
await Promise.all(Object.values(loadedLater).map((load) => load()));

// Allow for a busy machine.
configure({ asyncUtilTimeout: 15_000 });

beforeAll(() => {
  server.listen({ onUnhandledRequest: "error" });
});

afterEach(() => {
  cleanup();
  server.resetHandlers();
  localStorage.clear();
  // Tests share modules, and toasts are module state.
  dismissAllToasts();
});

afterAll(() => {
  server.close();
});

/** The prototype of all elements: in happy-dom the global `HTMLElement` is a different class. */
function prototypeWith(property: string): object {
  let found: object = document.createElement("div");
  while (!Object.hasOwn(found, property)) found = Object.getPrototypeOf(found) as object;
  return found;
}

/** A canvas context stub with every method and property. */
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
