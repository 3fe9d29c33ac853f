const carrier = { rat: 'lte', plmn: '27201', operatorName: 'Operator A', band: 'B20' }

/** Returns samples of a router in a moving vehicle: RF and a location each second, with a new fix every 100 m. */
export function driveSamples(count: number, startMs: number, seed: number): Record<string, unknown>[] {
  const samples: Record<string, unknown>[] = []
  for (let index = 0; samples.length < count; index++) {
    const ts = startMs + index * 1_000
    const leg = Math.floor(index / 7)
    samples.push({
      kind: 'cellular',
      ts,
      ...carrier,
      arfcn: 6_300,
      pci: (seed * 7 + leg) % 504,
      cellId: String(1_000_000 + ((seed + leg) % 50_000)),
      tac: '40122',
      rssiDbm: -70 - (index % 20),
      rsrpDbm: -95 - ((index * 3 + seed) % 25),
      rsrqDb: -9 - (index % 6),
      sinrDb: 4 + ((index + seed) % 14),
    })
    if (samples.length < count) {
      samples.push({
        kind: 'location',
        ts,
        lat: 51.8 + (seed % 1_000) * 1e-3 + leg * 7e-4,
        lon: -8.4 + leg * 4e-4,
        fix: '3d',
        accuracyM: 4,
        satellites: 11,
        altitudeM: 35,
        speedMps: 14,
        headingDeg: 20,
      })
    }
  }
  return samples
}

/** Returns one sample of each kind, as a moving router reports them once per minute, within 3 km of `start`. */
export function minuteSamples(
  ts: number,
  seed: number,
  start: { lat: number; lon: number } = { lat: 51.5 + (seed % 317) * 0.002, lon: -8.9 + (seed % 311) * 0.003 },
): Record<string, unknown>[] {
  const minute = Math.floor(ts / 60_000)
  const leg = (minute + seed) % 40
  return [
    {
      kind: 'cellular',
      ts,
      ...carrier,
      pci: (seed * 7 + leg) % 504,
      cellId: String(1_000_000 + ((seed + leg) % 50_000)),
      rsrpDbm: -95 - ((minute * 3 + seed) % 25),
      rsrqDb: -9 - (minute % 6),
      sinrDb: 4 + ((minute + seed) % 14),
    },
    {
      kind: 'location',
      ts,
      lat: start.lat + leg * 7e-4,
      lon: start.lon + leg * 4e-4,
      fix: '3d',
      accuracyM: 4,
      speedMps: 14,
      headingDeg: 20,
    },
    { kind: 'system', ts, cpuPct: (minute + seed) % 100, memUsedPct: 40, uptimeS: minute },
    { kind: 'connection', ts, state: 'connected', latencyMs: 20 + (seed % 90), lossPct: 0 },
  ]
}

/** Returns the same samples of a router that stands, whose receiver jitters by some metres. */
export const parkedSamples = (ts: number, seed: number): Record<string, unknown>[] =>
  minuteSamples(ts, seed).map((sample) => {
    if (sample.kind !== 'location') return sample
    const minute = Math.floor(ts / 60_000)
    const [lat, lon] = [51.5 + (seed % 317) * 0.002, -8.9 + (seed % 311) * 0.003]
    return { ...sample, lat: lat + (((minute * 37 + seed) % 41) - 20) * 1e-6, lon: lon + ((minute * 53) % 31) * 1e-6 }
  })

/** Returns a complete HTTP/1.1 request as bytes. */
export function httpRequest(path: string, token: string, body: string): string {
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`).toString('base64')
}
