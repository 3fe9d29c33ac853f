import { z } from 'zod'
import { Secret } from '#core/secret'

/** How to reach one QuestDB server. */
export type QuestdbServer = {
  /** The name of this copy in `QUESTDB_SERVERS`. Undefined for the server of `QUESTDB_URL`. */
  name: string | undefined
  /** Origin of the HTTP server, without credentials. */
  url: string
  /** Connection string of the PostgreSQL wire server, with credentials. */
  pgUrl: string
  /** Credentials for `url`. */
  user: string
  password: Secret
}

/** The environment variables of the apps that use QuestDB. `questdbServers` checks how they fit together. */
export const questdbVariables = {
  QUESTDB_URL: z.url().optional().meta({
    description:
      'The HTTP address of QuestDB. Set it together with `QUESTDB_PG_URL`. Default with `npm start`: the embedded QuestDB.',
    setByStart: true,
  }),
  QUESTDB_PG_URL: z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'The address of QuestDB for the PostgreSQL wire protocol.', setByStart: true }),
  QUESTDB_SERVERS: z
    .string()
    .optional()
    .describe(
      'Several complete copies of QuestDB instead of one server, in the order in which reads prefer them: `a=http://…,postgresql://…;b=…`. Needs Kafka, see [operations](operations.md#copies-of-questdb).',
    ),
  QUESTDB_USER: z
    .string()
    .default('admin')
    .meta({ description: 'The user for addresses that contain none.', setByStart: true }),
  QUESTDB_PASSWORD: z
    .string()
    .default('quest')
    .transform((text) => new Secret(text))
    .meta({
      description: 'The password for addresses that contain none. `npm start` generates one for the embedded QuestDB.',
      setByStart: true,
    }),
}

type QuestdbVariables = z.infer<z.ZodObject<typeof questdbVariables>>

/** Part of a consumer group's name, of a metric's label and of an answer. */
const namePattern = /^[a-z0-9][a-z0-9-]{0,31}$/

/**
 * Returns the configured servers: the one of `QUESTDB_URL` and `QUESTDB_PG_URL`, or those of `QUESTDB_SERVERS` in their
 * order. Throws an error with one sentence if neither or both are set, or if an entry is invalid.
 */
export function questdbServers(variables: QuestdbVariables): [QuestdbServer, ...QuestdbServer[]] {
  const { QUESTDB_URL: url, QUESTDB_PG_URL: pgUrl } = variables
  if (variables.QUESTDB_SERVERS === undefined) {
    if (!url || !pgUrl) throw invalid('QUESTDB_URL', 'set it together with QUESTDB_PG_URL, or set QUESTDB_SERVERS')
    return [serverOf(undefined, url, pgUrl, variables)]
  }
  if (url || pgUrl) {
    throw invalid('QUESTDB_SERVERS', 'set either QUESTDB_SERVERS or QUESTDB_URL and QUESTDB_PG_URL, not both')
  }
  const [first, ...others] = variables.QUESTDB_SERVERS.split(';')
    .filter((entry) => entry.trim() !== '')
    .map((entry, index) => parseEntry(entry.trim(), index + 1, variables))
  if (!first) throw invalid('QUESTDB_SERVERS', 'must name at least one server')
  const servers: [QuestdbServer, ...QuestdbServer[]] = [first, ...others]
  for (const what of ['name', 'url', 'pgUrl'] as const) {
    if (new Set(servers.map(({ [what]: value }) => value)).size < servers.length) {
      throw invalid('QUESTDB_SERVERS', `two entries have the same ${what === 'name' ? 'name' : 'address'}`)
    }
  }
  return servers
}

/** Returns the only configured server. Throws an error with one sentence if there are several: `why` they cannot be used. */
export function onlyQuestdbServer(variables: QuestdbVariables, why: string): QuestdbServer {
  const [server, ...others] = questdbServers(variables)
  if (others.length > 0) throw invalid('QUESTDB_SERVERS', why)
  return server
}

/** Returns the SQL addresses of all servers, for an app that needs no other. Throws as `questdbServers` does. */
export function questdbSqlUrls(variables: QuestdbVariables): string[] {
  const { QUESTDB_SERVERS: servers, QUESTDB_PG_URL: pgUrl } = variables
  if (servers === undefined && pgUrl) return [withCredentials('QUESTDB_PG_URL', pgUrl, variables)]
  return questdbServers(variables).map((server) => server.pgUrl)
}

function parseEntry(entry: string, number: number, variables: QuestdbVariables): QuestdbServer {
  const [, name = '', url = '', pgUrl = ''] = /^([^=,]*)=([^,]+),([^,]+)$/.exec(entry) ?? []
  if (!namePattern.test(name) || !/^https?:\/\/./.test(url) || !/^postgres(?:ql)?:\/\/./.test(pgUrl)) {
    // Without the entry itself, which can contain a password.
    const form =
      'name=http://host:9000,postgresql://host:8812/qdb, with a name of lower-case letters, digits and hyphens'
    throw invalid('QUESTDB_SERVERS', `entry ${number} must be ${form}`)
  }
  return serverOf(name, url, pgUrl, variables)
}

function serverOf(name: string | undefined, url: string, pgUrl: string, variables: QuestdbVariables): QuestdbServer {
  const variable = name === undefined ? 'QUESTDB_URL' : 'QUESTDB_SERVERS'
  const http = parseUrl(variable, url)
  const own = http.username !== ''
  return {
    name,
    url: http.origin,
    pgUrl: withCredentials(name === undefined ? 'QUESTDB_PG_URL' : variable, pgUrl, variables),
    user: own ? decodeURIComponent(http.username) : variables.QUESTDB_USER,
    password: own ? new Secret(decodeURIComponent(http.password)) : variables.QUESTDB_PASSWORD,
  }
}

function withCredentials(
  variable: string,
  pgUrl: string,
  { QUESTDB_USER, QUESTDB_PASSWORD }: Pick<QuestdbVariables, 'QUESTDB_USER' | 'QUESTDB_PASSWORD'>,
): string {
  const url = parseUrl(variable, pgUrl)
  if (url.username === '') {
    url.username = encodeURIComponent(QUESTDB_USER)
    url.password = encodeURIComponent(QUESTDB_PASSWORD.reveal())
  }
  return url.href
}

function parseUrl(variable: string, text: string): URL {
  const url = URL.parse(text)
  if (!url) throw invalid(variable, 'is not a URL')
  return url
}

const invalid = (variable: string, message: string) => new Error(`Invalid configuration. ${variable}: ${message}`)
