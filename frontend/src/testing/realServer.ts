import { inject } from "vitest";

// In the process of these tests only: others share this machine, and must never reach a server by mistake.
process.env.VITE_API_URL = inject("serverUrl");
