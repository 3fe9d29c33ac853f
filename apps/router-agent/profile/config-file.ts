import { join } from 'node:path'

/** The file from which the services of the router read their config: `{id, version, settings}`, including secrets. */
export const configFile = (folder: string): string => join(folder, 'config.json')
