import type { Clock } from '#core/clock'
import type { PartEvent } from './supervise.ts'

/** Tells the person at the terminal what happens: a line when a step begins and another when it is done. */
export type Progress = {
  begin(part: string, doing: string): (done: string) => void
  note(part: string, event: PartEvent): void
  /** One line about a part. */
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
      return `${event.how}; starting it again in ${event.restartInMs / 1000} s`
    case 'restarted':
      return `runs again as process ${event.pid}`
    case 'refused':
      return `did not start; trying again in ${event.restartInMs / 1000} s. ${event.reason}`
  }
}
