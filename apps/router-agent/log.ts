export type LogFields = Record<string, string | number | boolean | string[] | undefined>

/** One event of a router. Fields are figures and codes; tokens, settings and samples never go here. */
export type Log = (event: string, fields?: LogFields) => void

/** JSON lines on standard output, each with the router's serial. */
export const createLog =
  (serial: string, write: (line: string) => void = (line) => process.stdout.write(line)): Log =>
  (event, fields = {}) =>
    write(`${JSON.stringify({ time: new Date().toISOString(), event, serial, ...fields })}\n`)
