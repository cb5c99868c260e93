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

/** Shows a notification. Use a dialog for questions, and inline errors for forms. */
export function showToast(text: string, kind: Toast["kind"] = "info"): void {
  const toast = { id: nextId++, kind, text };
  change([...toasts, toast]);
  // Errors stay until dismissed.
  if (kind === "info") setTimeout(dismissToast, SHOWN_FOR_MS, toast.id);
}

/** Shows the error of a mutation with its next step. */
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
