import { fieldsOf, type Kind, kinds } from '#telemetry/report/fields'
import { jsonNumber, jsonString, jsonValue } from './json.ts'
import type { Random } from './random.ts'

const dayMs = 24 * 60 * 60 * 1_000

/** Returns a report in JSON or NDJSON with some invalid samples. */
export function telemetryReport(random: Random, nowMs: number): { type: string; body: string } {
  const count = random.size(random.chance(0.1) ? 1_200 : 200)
  const startMs = nowMs - random.size(89 * dayMs)
  const stepMs = random.pick([1, 20, 1_000, 60_000, -1_000])
  const strangeness = random.pick([0, 0, 0.01, 0.5])
  const samples: string[] = []
  let bytes = 0
  for (let index = 0; index < count && bytes < 1_100_000; index++) {
    const sample = sampleText(random, startMs + index * stepMs, strangeness)
    samples.push(sample)
    bytes += sample.length
  }
  if (random.chance(0.2))
    return { type: 'application/x-ndjson', body: samples.join(random.pick(['\n', '\r\n', '\n\n'])) }
  const sentAt = random.chance(0.2) ? `"sentAt":${random.chance(0.5) ? nowMs : jsonValue(random)},` : ''
  return { type: 'application/json', body: `{${sentAt}"samples":[${samples.join(',')}]}` }
}

function sampleText(random: Random, tsMs: number, strangeness: number): string {
  if (random.chance(strangeness * 0.3)) return jsonValue(random)
  const kind = random.pick<Kind>(['location', 'location', ...kinds])
  const members = [`"kind":"${kind}"`, `"ts":${random.chance(strangeness) ? jsonNumber(random) : tsMs}`]
  if (kind === 'location') {
    // Close together, far apart, at the poles and at the antimeridian.
    const place = random.pick([51.9, 51.9, 51.9, 0, 89.9999, -90])
    members.push(
      `"lat":${place + random.next() * 0.001}`,
      `"lon":${random.pick([-8.4, -8.4, 179.9999]) + random.next() * 0.001}`,
    )
  }
  for (const [name, field] of fieldsOf(kind)) {
    if (name === 'lat' || name === 'lon' || random.chance(0.7)) continue
    if (random.chance(strangeness)) members.push(`"${name}":${jsonValue(random)}`)
    else if (field.type === 'number') members.push(`"${name}":${random.whole(-200, 200)}`)
    else if (field.type === 'word')
      members.push(`"${name}":"${random.pick(['lte', 'none', '3d', 'connected', 'home', '--'])}"`)
    else if (name === 'cells') members.push(`"cells":${cells(random)}`)
    else members.push(`"${name}":${random.chance(0.8) ? `"${'x'.repeat(random.size(256))}"` : jsonString(random)}`)
  }
  return `{${members.join(',')}}`
}

function cells(random: Random): string {
  const cell = `{"role":"neighbor","pci":${random.whole(0, 1_007)},"operatorName":"${'w'.repeat(random.size(256))}"}`
  return `[${Array.from({ length: random.size(40) }, () => cell).join(',')}]`
}
