import { gzipSync } from 'node:zlib'
import type { Attack } from '../attack.ts'
import { openAttackerClient } from '../attacker-client.ts'
import { flood } from '../telemetry-flood.ts'

const samplesPerReport = 40
const longText = 'W'.repeat(240)

/** A cellular sample with all fields and 32 cells at their maximum length. */
const cell = {
  role: 'neighbor',
  rat: 'nr-sa',
  plmn: '310410',
  operatorName: longText,
  band: longText,
  arfcn: 3_279_165,
  pci: 1_007,
  cellId: '68719476734',
  tac: '16777213',
  rsrpDbm: -100.123456789,
}
const sample = {
  ...cell,
  role: undefined,
  kind: 'cellular',
  nrBand: longText,
  cells: Array.from({ length: 32 }, () => cell),
}

/** Sends rows of the maximum size from many devices, then restarts ingest, which has to read them back. */
export const largeRows: Attack = {
  name: 'large-rows',
  about: 'samples with 32 cells and long strings from 30 devices, then ingest is killed and recovers',
  // Ingest does not respond during its restart.
  exempt: ['ingestLivez', 'nextJob'],
  async run({ url, attacker, apps }, { quick, signal }) {
    const client = openAttackerClient(signal)
    const startMs = Date.now() - 60 * 60 * 1_000
    const send = (from: number, durationMs: number) =>
      flood({
        client,
        url,
        devices: attacker.devices,
        durationMs,
        inFlight: 2,
        signal,
        next: (_, number) => {
          const samples = Array.from({ length: samplesPerReport }, (_, index) => {
            const ts = startMs + from + (number * samplesPerReport + index) * 100
            // An occasional fix makes the writer realign the rows before it.
            return index % 20 === 0
              ? { kind: 'location', ts, lat: 51.9, lon: -8.4 + index * 1e-6, fix: '3d' }
              : { ...sample, ts }
          })
          return { body: gzipSync(JSON.stringify({ samples }), { level: 1 }), headers: { 'content-encoding': 'gzip' } }
        },
      })
    try {
      const before = await send(0, quick ? 5_000 : 90_000)
      const killedMs = Date.now()
      await apps.restart('ingest', 'SIGKILL')
      const restartMs = Date.now() - killedMs
      const after = await send(50 * 60 * 1_000, quick ? 3_000 : 30_000)
      return {
        answers: client.answers,
        acceptedSamples: before + after,
        findings: [
          { what: 'ingest accepts again within 15 s', held: restartMs < 15_000, detail: `${restartMs} ms` },
          { what: 'reports are accepted after the restart', held: after > 0, detail: `${after} samples` },
        ],
      }
    } finally {
      client.close()
    }
  },
}
