import { defineConfig } from 'vite'
import { coarserAtlas } from './atlas.ts'

// Relative addresses throughout: the built page works at the root and behind any path prefix.
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  plugins: [coarserAtlas()],
  worker: { format: 'es' },
  optimizeDeps: { exclude: ['maplibre-gl'] },
  build: {
    target: 'es2022',
    // MapLibre alone is larger than the bundler's default warning.
    chunkSizeWarningLimit: 1_600,
    // A data: URL would need a wider Content-Security-Policy than 'self'.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
})
