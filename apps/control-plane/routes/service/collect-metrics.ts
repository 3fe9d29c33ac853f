import { type Exposition, type HttpMetrics, mergeExpositions } from '#http/metrics'

/** The copies of an app, by the base addresses of their `/metrics` and `/readyz`. */
export type AppCopies = { app: string; baseUrls: readonly string[] }

const limitMs = 5_000

/** Returns the metrics of all copies of all apps in one exposition. */
export async function collectMetrics(parts: {
  metrics: Pick<HttpMetrics, 'registry'>
  controlPlaneUrls: readonly string[]
  otherApps: readonly AppCopies[]
}): Promise<string> {
  const { metrics, controlPlaneUrls: baseUrls, otherApps } = parts
  const app = 'control-plane'
  // One of several copies answers this request, so counters of this process alone would jump between scrapes.
  const own = baseUrls.length > 0 ? metricsOf({ app, baseUrls }) : [{ app, text: await metrics.registry.metrics() }]
  return mergeExpositions(await Promise.all([...own, ...otherApps.flatMap(metricsOf)]))
}

const metricsOf = ({ app, baseUrls }: AppCopies): Promise<Exposition>[] =>
  baseUrls.map(async (baseUrl) => ({
    app,
    copy: baseUrls.length > 1 ? new URL(baseUrl).host : undefined,
    text: await fetchMetrics(app, baseUrl),
  }))

/** Reports a process that does not respond as `app_up 0`, so that the scrape succeeds for the others. */
async function fetchMetrics(app: string, baseUrl: string): Promise<string> {
  const up = (value: 0 | 1) =>
    `# HELP app_up Whether the app responded to this scrape.\n# TYPE app_up gauge\napp_up{app="${app}"} ${value}\n`
  try {
    const answer = await fetch(new URL('/metrics', baseUrl), { signal: AbortSignal.timeout(limitMs) })
    return answer.ok ? `${await answer.text()}\n${up(1)}` : up(0)
  } catch {
    return up(0)
  }
}
