/* The dashboard is built into the service's static files. Nothing is inlined: the page's policy allows only 'self'. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import vue from "@vitejs/plugin-vue";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const SHARED =
  /web\/src\/(components\/(?!editing)|composables\/(?!useField)|stores\/|model\/(?!manifest)|api\/)/;
const backend = process.env["GITOPS_DASHBOARD_BACKEND"] ?? "http://127.0.0.1:8790";

/** Beside each built file what it weighs on the wire: the service sends that to who takes it. */
const compressed: Plugin = {
  name: "compressed",
  writeBundle: ({ dir = "" }, bundle) => {
    for (const name of Object.keys(bundle).filter((one) => /\.(js|css)$/.test(one))) {
      const file = join(dir, name);
      writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }));
    }
  },
};

export default defineConfig({
  plugins: [vue(), compressed],
  resolve: { alias: { "@": at("./src") } },
  build: {
    outDir: at("../service/static"),
    emptyOutDir: true,
    assetsInlineLimit: 0,
    // One style sheet and one file of what pages share: thirty small ones cost more than their bytes.
    cssCodeSplit: false,
    rolldownOptions: {
      output: { codeSplitting: { groups: [{ name: "shared", test: SHARED, minShareCount: 2 }] } },
    },
    modulePreload: { polyfill: false },
    target: ["chrome123", "firefox121", "safari17.5"],
  },
  test: { include: ["tests/**/*.test.ts"] },
  server: { proxy: { "/api": { target: backend, changeOrigin: false } } },
});
