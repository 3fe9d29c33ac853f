import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const run = promisify(execFile)

/** Opens tracing in a process of its own and returns how many modules of OpenTelemetry it loaded. */
async function loadedModules(endpoint: string | undefined): Promise<number> {
  const script = `
    import { registerHooks } from 'node:module'
    let count = 0
    registerHooks({
      load(url, context, next) {
        if (url.includes('@opentelemetry')) count += 1
        return next(url, context)
      },
    })
    const { openTracing } = await import(${JSON.stringify(new URL('./open-tracing.ts', import.meta.url).href)})
    const { tracing, stop } = await openTracing('test', ${JSON.stringify(endpoint) ?? 'undefined'})
    await stop()
    console.log(count, tracing === undefined)`
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script])
  return Number(stdout.split(' ')[0])
}

test('OpenTelemetry is loaded only if there is an endpoint', async () => {
  expect(await loadedModules(undefined)).toBe(0)
  expect(await loadedModules('http://127.0.0.1:9')).toBeGreaterThan(10)
})
