import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** The server answers its own origin only, so the proxy speaks in that name. */
const server = process.env.VITRINE_URL ?? "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [react()],
  define: { __API_KEY__: JSON.stringify(process.env.VITRINE_API_KEY ?? "") },
  worker: { format: "es" },
  server: {
    host: "127.0.0.1",
    proxy: { "/graphql": { target: server, changeOrigin: true, headers: { origin: server }, ws: true } },
  },
});
