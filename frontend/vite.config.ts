import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

/** Where `npm run dev` finds the server; the built app is served by it and needs none of this. */
const server = process.env.VITRINE_URL ?? "http://127.0.0.1:8080";

/** The server answers its own origin only, so the proxy speaks in that name. */
const toServer = { target: server, changeOrigin: true, headers: { origin: server } };

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  server: {
    host: "127.0.0.1",
    proxy: {
      "/graphql": { ...toServer, ws: true },
      "/studio/sign-in": toServer,
      "/artifacts": toServer,
    },
  },
  // Nothing is inlined as a data: URL, so that a strict Content-Security-Policy holds.
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  test: { environment: "node", include: ["src/**/*.test.{ts,tsx}"] },
});
