import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { errorText } from '#core/error-text'
import { maxModems } from '#telemetry/report/sources'
import { type InterfaceCounters, interfaceOf, type ModemAnswers, modemSamples, valueAt } from './modem-samples.ts'
import { createPacing } from './pacing.ts'
import type { Sample, SampleSource } from './sample.ts'

const run = promisify(execFile)

/** Reads the samples of all modems, each with the time `ts`. */
type ReadModems = (ts: number) => Promise<Sample[]>

/** `mmcli`: the command of ModemManager. `networkFolder`: where the kernel shows its network interfaces. */
type ModemHost = { mmcli?: string; networkFolder?: string }

const everyMs = 60_000
const answerWithinMs = 10_000

/** Returns a function that samples every modem that ModemManager lists; none if it is not installed or does not answer. */
export function createModemReader({ mmcli = 'mmcli', networkFolder = '/sys/class/net' }: ModemHost = {}): ReadModems {
  /** Names by index, for a modem that does not describe itself this time. */
  const names = new Map<string, string>()

  async function ask(...question: string[]): Promise<unknown> {
    try {
      const { stdout } = await run(mmcli, [...question, '-J'], { timeout: answerWithinMs, killSignal: 'SIGKILL' })
      return JSON.parse(stdout)
    } catch {
      return null
    }
  }

  async function answersOf(index: string): Promise<ModemAnswers> {
    const [details, signal] = [await ask('-m', index), await ask('-m', index, '--signal-get')]
    const card = valueAt(details, 'modem', 'generic', 'sim')
    return { details, signal, card: card === null ? null : await ask('-i', indexOf(card)) }
  }

  async function countersOf(name: string): Promise<InterfaceCounters | null> {
    const counter = async (file: string) =>
      Number(await readFile(join(networkFolder, name, 'statistics', file), 'utf8'))
    try {
      return { rxBytes: await counter('rx_bytes'), txBytes: await counter('tx_bytes') }
    } catch {
      return null
    }
  }

  async function readModem(index: string, ts: number): Promise<Sample[]> {
    const answers = await answersOf(index)
    const name = interfaceOf(answers.details) ?? names.get(index) ?? index
    names.set(index, name)
    return modemSamples(name, answers, await countersOf(name), ts)
  }

  return async (ts) => {
    const list = valueAt(await ask('-L'), 'modem-list')
    const indexes = Array.isArray(list) ? list.slice(0, maxModems).map(indexOf) : []
    // One that does not answer must not delay the others.
    return (await Promise.all(indexes.map((index) => readModem(index, ts)))).flat()
  }
}

/** Samples the modems once a minute. Their answers take a while: `collect` returns those that came since its last call. */
export function createModemSource(read: ReadModems, bootedAtMs: number): SampleSource {
  const isDue = createPacing(everyMs, bootedAtMs)
  let arrived: Sample[] = []
  return {
    collect(nowMs) {
      if (isDue(nowMs)) {
        read(nowMs).then(
          (samples) => arrived.push(...samples),
          (error) => console.error(`The modems were not read: ${errorText(error)}`),
        )
      }
      const samples = arrived
      arrived = []
      return samples
    },
    isLinkUp: () => true,
    isExhausted: () => false,
  }
}

/** The last part of a path such as `/org/freedesktop/ModemManager1/Modem/0`. */
const indexOf = (path: unknown): string => String(path).slice(String(path).lastIndexOf('/') + 1)
