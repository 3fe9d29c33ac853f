import type { Attack } from '../attack.ts'
import { openAttackerClient } from '../attacker-client.ts'

/** 15 degrees of latitude, almost the longest permitted path, in 16,700 segments. */
function somePath(): [lon: number, lat: number][] {
  const [lon, lat] = [Math.random() * 340 - 170, Math.random() * 60 - 30]
  return [
    [lon, lat],
    [lon, lat + 15],
  ]
}

/** Requests the longest forecasts, each of another route, so that no cache has the answer. */
export const longForecasts: Attack = {
  name: 'long-forecasts',
  about: 'forecasts of 1,670 km, each of another route, four at a time',
  async run(target, { quick, signal }) {
    const client = openAttackerClient(signal)
    const headers = { authorization: `Bearer ${target.attacker.viewerKey}` }
    const endMs = Date.now() + (quick ? 10_000 : 120_000)
    const failed: string[] = []
    const attack = async () => {
      while (Date.now() < endMs && !signal.aborted) {
        const json = { path: somePath() }
        const answer = await client.call({ url: `${target.url}/fleet/forecast`, method: 'POST', headers, json })
        if (answer && answer.status >= 500) failed.push(`${answer.status} ${answer.code}`)
      }
    }
    try {
      await Promise.all(Array.from({ length: 4 }, attack))
      return {
        answers: client.answers,
        findings: [{ what: 'no 5xx', held: failed.length === 0, detail: failed.slice(0, 5).join('; ') || 'none' }],
      }
    } finally {
      client.close()
    }
  },
}
