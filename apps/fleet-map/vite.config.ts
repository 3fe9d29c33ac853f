import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { constants } from 'node:zlib'
import { defineConfig } from 'vite'
import { compression, defineAlgorithm } from 'vite-plugin-compression2'
import { coarserAtlas } from './atlas.ts'
import { helpModules } from './help/help-plugin.ts'

/** Small modules that the map and other views need. In files of their own, each would be a request. */
const smallModules =
  /\/(src\/.*\/(background|background-settings|history|history-row|notice|palette|panel-focus|tag-filter|tags|theme|title|typed|words)|telemetry\/geo\/geo)\.tsx?$/

/** The font, the shared styles and those of the first view: in one file, they keep the order in which they are imported. */
const firstStyles =
  /\/@fontsource-variable\/|\/src\/(styles\/(?!api-reference)|.*\/(map|shell|device|sign-in)\.module\.css$)/

const pages = ['index.html', 'docs.html']

// The highest quality, 11, takes several times as long and saves a twentieth.
const brotliQuality = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'))

// All addresses are relative: the built pages work at the root and behind any path prefix.
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  define: { productVersion: JSON.stringify(version) },
  plugins: [
    coarserAtlas(),
    helpModules(),
    compression({
      include: /\.(js|css|svg)$/,
      algorithms: [defineAlgorithm('gzip', {}), defineAlgorithm('brotliCompress', brotliQuality)],
    }),
  ],
  css: { modules: { localsConvention: 'camelCaseOnly', generateScopedName: '[local]_[hash:base64:4]' } },
  worker: { format: 'es' },
  optimizeDeps: { exclude: ['maplibre-gl'] },
  build: {
    target: 'es2022',
    rolldownOptions: {
      input: pages.map((name) => join(import.meta.dirname, name)),
      output: {
        chunkFileNames: ({ facadeModuleId }) =>
          `assets/${facadeModuleId?.endsWith('.md') ? 'help.' : ''}[name]-[hash].js`,
        codeSplitting: { groups: [{ name: 'basics', test: (id) => smallModules.test(id) || firstStyles.test(id) }] },
      },
    },
    // MapLibre and Swagger UI alone are larger than the bundler's default warning.
    chunkSizeWarningLimit: 1_900,
    // A data: URL would need a wider Content-Security-Policy than 'self'.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
})
