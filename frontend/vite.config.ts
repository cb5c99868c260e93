import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const API = process.env.TUNIX_RT_URL ?? "http://127.0.0.1:8000";
const proxied = {
  target: API,
  changeOrigin: true,
  // The server only accepts requests from its own origin, so the dev server drops the Origin header.
  configure: (proxy: { on: (event: "proxyReq", listener: (request: ProxyRequest) => void) => unknown }): void => {
    proxy.on("proxyReq", (request) => {
      request.removeHeader("origin");
    });
  },
};

interface ProxyRequest {
  removeHeader: (name: string) => void;
}

export default defineConfig({
  plugins: [react()],
  build: { outDir: "../backend/tunix_rt/web", emptyOutDir: true, target: "es2022", assetsInlineLimit: 0 },
  server: { host: "127.0.0.1", proxy: { "/api": proxied, "/v1": proxied, "/docs": proxied, "/metrics": proxied } },
});
