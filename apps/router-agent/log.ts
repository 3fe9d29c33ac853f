type LogFields = Record<string, string | number | boolean | string[] | undefined>

/** Logs one event of a router. Fields hold numbers and codes, never tokens, settings or samples. */
export type Log = (event: string, fields?: LogFields) => void

/** JSON lines on standard output, each with the router's serial. */
export const createLog =
  (serial: string, write: (line: string) => void = (line) => process.stdout.write(line)): Log =>
  (event, fields = {}) =>
    write(`${JSON.stringify({ time: new Date().toISOString(), event, serial, ...fields })}\n`)
