// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from 'vite';

// The page is served with a strict content security policy: nothing inline, nothing from elsewhere.
export default defineConfig({
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact' },
  build: {
    target: 'es2020',
    outDir: process.env.ALLOT_WEB_OUT || 'dist',
    emptyOutDir: true,
    assetsDir: 'assets',
    assetsInlineLimit: 0,
    modulePreload: false,
    cssCodeSplit: false,
    reportCompressedSize: false,
  },
  server: {
    port: 5173,
    fs: { allow: ['.', '../docs'] }, // Tests read pages.
    // The server refuses foreign origins: what the browser sends is that of this development server.
    proxy: {
      '/docs': { target: process.env.ALLOT_SERVER || 'http://127.0.0.1:7420', changeOrigin: true },
      '/v1': {
        target: process.env.ALLOT_SERVER || 'http://127.0.0.1:7420',
        changeOrigin: true,
        configure: (proxy) => proxy.on('proxyReq', (request) => request.removeHeader('origin')),
      },
    },
  },
  test: { include: ['src/**/*.test.ts', 'docs/*.test.mjs'], environment: 'node' },
} as Parameters<typeof defineConfig>[0]);
