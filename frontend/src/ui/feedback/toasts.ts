import { useSyncExternalStore } from "react";

export interface Toast {
  id: number;
  kind: "info" | "error";
  text: string;
}

const SHOWN_FOR_MS = 8_000;
let toasts: readonly Toast[] = [];
let nextId = 1;
const listeners = new Set<() => void>();

/** Say that something has happened. What needs an answer belongs into a dialog, what is wrong with a form beside it. */
export function showToast(text: string, kind: Toast["kind"] = "info"): void {
  const toast = { id: nextId++, kind, text };
  change([...toasts, toast]);
  // What went wrong stays until it is read.
  if (kind === "info") setTimeout(dismissToast, SHOWN_FOR_MS, toast.id);
}

/** An error of a mutation, in one line with its next step. */
export function showError(error: Error & { nextStep?: string }): void {
  showToast(error.nextStep === undefined ? error.message : `${error.message} ${error.nextStep}`, "error");
}

export function dismissToast(id: number): void {
  change(toasts.filter((toast) => toast.id !== id));
}

export function dismissAllToasts(): void {
  change([]);
}

export function useToasts(): readonly Toast[] {
  return useSyncExternalStore(subscribe, () => toasts);
}

function change(next: readonly Toast[]): void {
  toasts = next;
  listeners.forEach((listener) => {
    listener();
  });
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}
