import { defineConfig } from "vite";

export default defineConfig({
  base: "/",
  build: {
    outDir: "../src/shoal/web/static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: { output: { entryFileNames: "assets/page-[hash].js", assetFileNames: "assets/page-[hash][extname]" } },
  },
  server: { proxy: { "/api": "http://127.0.0.1:8080" } },
});
