import type { Clock } from '#core/clock'
import type { PartEvent } from './supervise.ts'

/** Prints progress to the terminal: one line when a step begins and one when it is done. */
export type Progress = {
  begin(part: string, doing: string): (done: string) => void
  note(part: string, event: PartEvent): void
  /** Prints one line about a part. */
  tell(part: string, text: string): void
  say(text: string): void
}

export function createProgress(print: (line: string) => void, clock: Clock): Progress {
  const line = (part: string, text: string) => print(`  ${part.padEnd(14)} ${text}`)
  return {
    begin: (part, doing) => {
      const startedAtMs = clock()
      line(part, `${doing} …`)
      return (done) => line(part, `${done} in ${((clock() - startedAtMs) / 1000).toFixed(1)} s`)
    },
    note: (part, event) => line(part, sentenceOf(event)),
    tell: line,
    say: print,
  }
}

function sentenceOf(event: PartEvent): string {
  switch (event.kind) {
    case 'ended':
      return `${event.how}; restarting in ${event.restartInMs / 1000} s`
    case 'restarted':
      return `restarted as process ${event.pid}`
    case 'refused':
      return `did not start; retrying in ${event.restartInMs / 1000} s. ${event.reason}`
  }
}
