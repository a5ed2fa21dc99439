/* The dashboard is built into the service's static files. Nothing is inlined: the page's policy allows only 'self'. */
import { fileURLToPath } from "node:url";
import vue from "@vitejs/plugin-vue";
import { defineConfig } from "vitest/config";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const backend = process.env["GITOPS_DASHBOARD_BACKEND"] ?? "http://127.0.0.1:8790";

export default defineConfig({
  plugins: [vue()],
  resolve: { alias: { "@": at("./src") } },
  build: {
    outDir: at("../service/static"),
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: ["chrome123", "firefox121", "safari17.5"],
  },
  test: { include: ["tests/**/*.test.ts"] },
  server: { proxy: { "/api": { target: backend, changeOrigin: false } } },
});
