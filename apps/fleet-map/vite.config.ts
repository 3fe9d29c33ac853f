import { join } from 'node:path'
import { constants } from 'node:zlib'
import { defineConfig } from 'vite'
import { compression, defineAlgorithm } from 'vite-plugin-compression2'
import { coarserAtlas } from './atlas.ts'

/** Small modules that the map and other views need. In files of their own, each would be a request. */
const basics = /\/src\/.*\/(history|notice|palette|panel-focus|tag-filter|tags|theme|title|typed|words)\.tsx?$/

const pages = ['index.html', 'docs.html']

// The highest quality, 11, takes several times as long and saves a twentieth.
const brotliQuality = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }

// All addresses are relative: the built pages work at the root and behind any path prefix.
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  plugins: [
    coarserAtlas(),
    compression({
      include: /\.(js|css|svg)$/,
      algorithms: [defineAlgorithm('gzip', {}), defineAlgorithm('brotliCompress', brotliQuality)],
    }),
  ],
  worker: { format: 'es' },
  optimizeDeps: { exclude: ['maplibre-gl'] },
  build: {
    target: 'es2022',
    rolldownOptions: {
      input: pages.map((name) => join(import.meta.dirname, name)),
      output: { codeSplitting: { groups: [{ name: 'basics', test: basics }] } },
    },
    // MapLibre and Swagger UI alone are larger than the bundler's default warning.
    chunkSizeWarningLimit: 1_900,
    // A data: URL would need a wider Content-Security-Policy than 'self'.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
})
