import { setTimeout as delay } from 'node:timers/promises'
import type { IlpTransport } from '#questdb/server/ilp-transport'
import type { SampleCounts } from '#telemetry-log/checkpoints/checkpoint'
import type { DeadRow } from '#telemetry-log/dead-letters/dead-letters'
import { type BatchRows, fates } from './row-batch.ts'

export type RowStore = {
  /** Resolves when every row is stored or in the dead letters, and returns which. Retries without a limit. */
  store(rows: BatchRows): Promise<SampleCounts>
}

export type RowStoreParts = {
  transport: IlpTransport
  saveDeadRows: (rows: readonly DeadRow[]) => void | Promise<void>
  /** Creates missing tables and columns. */
  repairSchema: () => Promise<void>
  onRetry: (detail: string) => void
  signal: AbortSignal
}

const firstPauseMs = 50
const longestPauseMs = 5_000
/** If more rows than this fail, the cause is the table or this service, not the rows. */
const systemicRows = 16

type Range = { from: number; to: number }
type Refusal = { index: number; detail: string }

/** Sends rows until they are stored or rejected. Aborting the signal rejects pending calls. */
export function createRowStore({ transport, saveDeadRows, repairSchema, onRetry, signal }: RowStoreParts): RowStore {
  /** Sends until QuestDB responds. Returns undefined if the rows are stored, otherwise the reason of the rejection. */
  async function send(rows: BatchRows, { from, to }: Range): Promise<string | undefined> {
    const bytes = rows.bytes.subarray(from === 0 ? 0 : rows.rowEnds[from - 1], rows.rowEnds[to - 1])
    let uncertain = false
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      signal.throwIfAborted()
      const outcome = await transport.send(bytes)
      if (outcome.kind === 'refused') return outcome.detail
      if (outcome.kind === 'stored' && !uncertain) return undefined
      if (outcome.kind === 'stored') {
        // An earlier attempt may still be applied and would replace newer rows with older ones. Wait until it is
        // applied, so that these rows are the last.
        uncertain = false
        await delay(1_000, undefined, { signal })
        continue
      }
      uncertain ||= outcome.uncertain
      onRetry(outcome.detail)
      await delay(pauseMs * (0.5 + Math.random()), undefined, { signal })
    }
  }

  async function refusalsIn(rows: BatchRows, range: Range, refused?: string): Promise<Refusal[]> {
    const detail = refused ?? (await send(rows, range))
    if (detail === undefined) return []
    if (range.to - range.from === 1) return [{ index: range.from, detail }]
    const middle = (range.from + range.to) >>> 1
    const before = await refusalsIn(rows, { from: range.from, to: middle })
    return [...before, ...(await refusalsIn(rows, { from: middle, to: range.to }))]
  }

  async function findRefusals(rows: BatchRows): Promise<Refusal[]> {
    const whole = { from: 0, to: rows.rowEnds.length }
    for (;;) {
      if ((await send(rows, whole)) === undefined) return []
      await repairSchema()
      const refused = await send(rows, whole)
      if (refused === undefined) return []
      const refusals = await refusalsIn(rows, whole, refused)
      if (refusals.length < whole.to || whole.to < systemicRows) return refusals
      onRetry(refused)
      await delay(longestPauseMs, undefined, { signal })
    }
  }

  return {
    async store(rows) {
      const refusals = await findRefusals(rows)
      const counts = { stored: 0, replaced: 0, deadLettered: 0 }
      for (const fate of rows.fates) {
        if (fate === fates.stored) counts.stored += 1
        else if (fate === fates.replaced) counts.replaced += 1
      }
      if (refusals.length === 0) return counts
      await saveDeadRows(refusals.map((refusal) => deadRow(rows, refusal)))
      for (const { index } of refusals) {
        const fate = rows.fates[index]
        if (fate === fates.uncounted) continue
        if (fate === fates.stored) counts.stored -= 1
        else counts.replaced -= 1
        counts.deadLettered += 1
      }
      return counts
    },
  }
}

function deadRow(rows: BatchRows, { index, detail }: Refusal): DeadRow {
  const bytes = rows.bytes.subarray(rows.rowEnds[index - 1] ?? 0, rows.rowEnds[index])
  const text = bytes.toString('latin1')
  return {
    at: new Date().toISOString(),
    reason: detail,
    table: rows.table,
    key: `${text.slice(0, text.indexOf(' '))} ${text.slice(text.lastIndexOf(' ') + 1).trim()}`,
    row: bytes.toString('base64'),
  }
}
