import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseConfig } from '#core/config'
import { type IlpTransport, openIlpTransport } from '#questdb/ilp-transport'
import { type DeadRow, deadLetterFolder } from '#telemetry-log/dead-letters'
import { configSchema } from './config.ts'

// node apps/ingest/replay-dead-letters.ts: sends refused rows to QuestDB again, once their cause is mended. Rows it
// takes leave the dead letters, the others stay. They were counted as dead-lettered and stay counted so.
const config = parseConfig(
  configSchema.pick({ QUESTDB_URL: true, QUESTDB_USER: true, QUESTDB_PASSWORD: true, LOG_DIR: true }),
  process.env,
)
const transport = openIlpTransport({
  url: config.QUESTDB_URL,
  user: config.QUESTDB_USER,
  password: config.QUESTDB_PASSWORD,
})
const folder = deadLetterFolder(config.LOG_DIR)
// Ingest may be adding to today's file; it makes a new one when this one has another name.
for (const name of readdirSync(folder)) {
  if (/^rows-.*\.jsonl$/.test(name)) renameSync(join(folder, name), join(folder, `replaying-${Date.now()}-${name}`))
}
// A line that was being added at that moment is in the file by now.
await delay(1_000)
const files = readdirSync(folder).filter((name) => /^replaying-.*\.jsonl$/.test(name))
let stored = 0
let left = 0
for (const name of files.sort()) {
  const path = join(folder, name)
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean)
  const kept: string[] = []
  for (const line of lines) if (!(await isStored(transport, line))) kept.push(line)
  stored += lines.length - kept.length
  left += kept.length
  if (kept.length === 0) {
    rmSync(path)
    continue
  }
  writeFileSync(`${path}.next`, kept.map((line) => `${line}\n`).join(''))
  renameSync(`${path}.next`, path)
}
await transport.close()
console.log(`${stored} rows stored, ${left} still refused.`)
process.exitCode = left === 0 ? 0 : 1

async function isStored(to: IlpTransport, line: string): Promise<boolean> {
  const { key, row } = JSON.parse(line) as DeadRow
  const outcome = await to.send(Buffer.from(row, 'base64'))
  if (outcome.kind !== 'stored') console.error(`${key}: ${outcome.detail}`)
  return outcome.kind === 'stored'
}
