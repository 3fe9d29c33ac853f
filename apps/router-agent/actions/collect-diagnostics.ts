import { writeFile } from 'node:fs/promises'
import { freemem, loadavg, networkInterfaces, totalmem } from 'node:os'
import { join } from 'node:path'
import { type Action, succeeded } from './action.ts'

/** Writes diagnostics for support engineers to `<folder>/diagnostics.json` and reports a summary. */
export const collectDiagnostics: Action = async (_job, { folder, state, uptimeS, bufferFigures }) => {
  const { firmware, profile } = state.read()
  const waiting = bufferFigures()
  const diagnostics = {
    takenAt: new Date().toISOString(),
    firmware,
    profile: profile ?? null,
    uptimeS: uptimeS(),
    load: loadavg(),
    memory: { totalBytes: totalmem(), freeBytes: freemem(), processBytes: process.memoryUsage.rss() },
    interfaces: Object.keys(networkInterfaces()),
    telemetryWaiting: waiting,
  }
  await writeFile(join(folder, 'diagnostics.json'), JSON.stringify(diagnostics, null, 2), { mode: 0o600 })
  return succeeded({
    firmware,
    profileVersion: profile?.version ?? null,
    uptimeS: uptimeS(),
    load1: loadavg()[0] ?? null,
    samplesWaiting: waiting.samples,
    samplesGivenUp: waiting.droppedSamples,
  })
}
