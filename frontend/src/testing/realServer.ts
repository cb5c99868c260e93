import { inject } from "vitest";

// Set only in the test process, because the machine is shared and other processes must not reach this server.
process.env.VITE_API_URL = inject("serverUrl");
