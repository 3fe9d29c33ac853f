import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { addTo } from '#core/counts'
import { errorText } from '#core/error-text'
import { syncFolder } from '#files/private-folder'
import type { IlpTransport } from '#questdb/server/ilp-transport'
import type { QuestdbSql } from '#questdb/server/sql'
import { waitUntilApplied } from '#questdb/server/wal-tables'
import { readStoredRows } from '#questdb/writer/stored-rows'
import {
  type DeadLetter,
  type DeadRow,
  deadLetterFolder,
  isDeadReport,
  isLetterFile,
  parseDeadLetter,
} from '#telemetry-log/dead-letters/dead-letters'
import type { TelemetryBatch } from '#telemetry-log/log'
import { createLoggedSamples, type LoggedSamples } from './logged-samples.ts'
import { fateOver, replayableReport } from './replay-report.ts'
import { rowKeyOf } from './row-key.ts'

/** The result of a letter. The first four are removed from the folder. `deleted` is removed on request. */
export type ReplayOutcome = 'stored' | 'logged' | 'superseded' | 'erased' | 'deleted' | 'refused' | 'unreadable'

export type ReplayParts = {
  logFolder: string
  /** Resolves when the report is durable: in the log or in QuestDB. Rejects if it cannot be stored; its letter is then kept. */
  store: (batch: TelemetryBatch) => Promise<void>
  /** Removes letters of deleted devices. */
  forgetDeleted: boolean
  /** Returns those of the devices that are registered. */
  existingDevices: (deviceIds: readonly string[]) => Promise<ReadonlySet<string>>
  questdb: QuestdbSql
  transport: IlpTransport
  /** Called for every letter that is kept, with the reason. */
  onKept: (fate: ReplayOutcome, detail: string) => void
}

const settled: ReadonlySet<ReplayOutcome> = new Set(['stored', 'logged', 'superseded', 'erased'])
const applyLimitMs = 60_000

/** Reports that may be on their way to the store at the same time. */
const maxStoringBytes = 4 * 1024 ** 2

/**
 * Replays the dead letters of a log and returns how many had which fate. Rows are sent to QuestDB, reports go to `store`.
 * Rows that were received later or erased are not overwritten, and nothing is stored for deleted devices. No writer may
 * store rows of these devices meanwhile. Rejects if `transport` throws; the letters of the present file then remain. Run it
 * again afterwards and after a crash: letters that were already replayed are superseded.
 */
export async function replayDeadLetters(parts: ReplayParts): Promise<Map<ReplayOutcome, number>> {
  const folder = deadLetterFolder(parts.logFolder)
  const fates = new Map<ReplayOutcome, number>()
  const logged = createLoggedSamples()
  const leaves = (fate: ReplayOutcome) => settled.has(fate) || (fate === 'deleted' && parts.forgetDeleted)
  for (const name of letterFilesIn(folder)) {
    const path = join(folder, name)
    const kept: string[] = []
    const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean)
    await untilApplied(parts.questdb)
    for (const [line, fate] of await fatesOf(parts, logged, lines)) {
      addTo(fates, fate)
      if (!leaves(fate)) kept.push(line)
    }
    keepOnly(path, kept)
  }
  return fates
}

/** Rows are first, because reports are stored after this command and must not be overwritten by them. */
const letterFilesIn = (folder: string): string[] => {
  const names = readdirSync(folder).filter((name) => isLetterFile(name.replace(/^replaying-\d+-/, '')))
  const isOfRows = (name: string) => name.includes('rows-')
  return [...names.filter(isOfRows).sort(), ...names.filter((name) => !isOfRows(name)).sort()]
}

async function untilApplied(questdb: QuestdbSql): Promise<void> {
  if (!(await waitUntilApplied(questdb, applyLimitMs))) throw new Error('QuestDB did not apply its writes within 60 s.')
}

function keepOnly(path: string, lines: readonly string[]): void {
  if (lines.length === 0) {
    rmSync(path)
    syncFolder(dirname(path))
    return
  }
  writeFileSync(`${path}.next`, lines.map((line) => `${line}\n`).join(''), { mode: 0o600, flush: true })
  renameSync(`${path}.next`, path)
  syncFolder(dirname(path))
}

async function fatesOf(
  parts: ReplayParts,
  logged: LoggedSamples,
  lines: readonly string[],
): Promise<[string, ReplayOutcome][]> {
  const letters = lines.map((line) => ({ line, letter: parseDeadLetter(line) }))
  const deviceIds = letters.flatMap(({ letter }) => (letter && deviceOf(letter)) ?? [])
  const existing = await parts.existingDevices([...new Set(deviceIds)])
  // Newest first, so that older letters of the same rows are superseded.
  const inOrder = [...letters].sort((a, b) => receivedAt(b.letter) - receivedAt(a.letter))
  const fates: Promise<[string, ReplayOutcome]>[] = []
  let storing: Promise<unknown>[] = []
  let storingBytes = 0
  for (const { line, letter } of inOrder) {
    const deviceId = letter && deviceOf(letter)
    if (!letter || deviceId === undefined) {
      parts.onKept('unreadable', line.slice(0, 200))
      fates.push(Promise.resolve([line, 'unreadable']))
    } else if (!existing.has(deviceId)) {
      parts.onKept('deleted', deviceId)
      fates.push(Promise.resolve([line, 'deleted']))
    } else {
      const { settled } = await replayLetter(parts, logged, letter)
      fates.push(settled.then((fate) => [line, fate]))
      storing.push(settled)
      storingBytes += line.length
    }
    if (storingBytes < maxStoringBytes) continue
    await Promise.all(storing)
    storing = []
    storingBytes = 0
  }
  return Promise.all(fates)
}

const deviceOf = (letter: DeadLetter): string | undefined =>
  isDeadReport(letter) ? letter.deviceId : rowKeyOf(letter)?.deviceId

const receivedAt = (letter: DeadLetter | undefined): number =>
  letter === undefined ? 0 : isDeadReport(letter) ? letter.receivedAtMs : (rowKeyOf(letter)?.receivedAtMs ?? 0)

/** Resolves when the next letter may be replayed. `settled` resolves with the fate when the letter may leave the folder. */
async function replayLetter(
  parts: ReplayParts,
  logged: LoggedSamples,
  letter: DeadLetter,
): Promise<{ settled: Promise<ReplayOutcome> }> {
  if (!isDeadReport(letter)) return { settled: Promise.resolve(await replayRow(parts, letter)) }
  const refused = (error: unknown): ReplayOutcome => {
    parts.onKept('refused', `${letter.deviceId}: ${errorText(error)}`)
    return 'refused'
  }
  try {
    const replayable = await replayableReport(parts.questdb, letter, logged)
    if (!replayable) return { settled: Promise.resolve('superseded') }
    const settled = parts.store(replayable.batch).then((): ReplayOutcome => 'logged', refused)
    logged.add(letter, replayable.samples)
    return { settled }
  } catch (error) {
    return { settled: Promise.resolve(refused(error)) }
  }
}

async function replayRow({ questdb, transport, onKept }: ReplayParts, letter: DeadRow): Promise<ReplayOutcome> {
  const key = rowKeyOf(letter)
  if (!key) return 'unreadable'
  // Rows of earlier letters must be visible.
  await untilApplied(questdb)
  const storedAt = await readStoredRows(questdb, key.table, key.deviceId, [key.tsMs])
  const fate = fateOver(storedAt(key.tsMs, key.source), key.receivedAtMs)
  if (fate !== 'replay') return fate
  const outcome = await transport.send(Buffer.from(letter.row, 'base64'))
  if (outcome.kind === 'stored') return 'stored'
  onKept('refused', `${letter.key}: ${outcome.detail}`)
  return 'refused'
}
