import { z } from 'zod'

/** The nodes of a cluster through which a client finds all others, and how to log in to each. */
export type ClusterAddress = {
  nodes: { host: string; port: number }[]
  username: string | undefined
  password: string | undefined
  tls: boolean
}

const clusterScheme = /^redis(s?)\+cluster:\/\//
const defaultPort = 6379

/** The environment variable of the apps that use Redis. */
export const redisVariables = {
  REDIS_URL: z
    .string()
    .min(1)
    .superRefine((url, context) => {
      const problem = problemOf(url)
      if (problem !== undefined) context.addIssue({ code: 'custom', message: problem })
    })
    .optional()
    .describe(
      'Redis for BullMQ and for shared rate limits: `redis://…`, or `redis+cluster://host:port,host:port` for a [Redis Cluster](operations.md#redis-cluster); with TLS, `rediss`. Default: BullMQ on Postgres and rate limits per process; with `--cluster`, the embedded Redis.',
    ),
}

/** Returns the nodes of a cluster's address, or undefined for the address of a single Redis. Throws if it is invalid. */
export function clusterAddress(url: string): ClusterAddress | undefined {
  const [scheme, tls] = clusterScheme.exec(url) ?? []
  if (scheme === undefined) return undefined
  const rest = url.slice(scheme.length)
  const at = rest.lastIndexOf('@')
  const hosts = rest.slice(at + 1).replace(/\/$/, '')
  const { username, password } = new URL(`redis://${rest.slice(0, at + 1)}host`)
  const nodes = hosts.split(',').map((host) => {
    const { hostname, port, pathname } = new URL(`redis://${host}`)
    if (hostname === '' || pathname !== '') throw new Error(`${host} is not a host with a port.`)
    return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? defaultPort : Number(port) }
  })
  const textOf = (encoded: string) => (encoded === '' ? undefined : decodeURIComponent(encoded))
  return { nodes, username: textOf(username), password: textOf(password), tls: tls === 's' }
}

function problemOf(url: string): string | undefined {
  if (/^rediss?:\/\/[^/?]*,/.test(url))
    return 'several hosts are a Redis Cluster: write redis+cluster:// or rediss+cluster://'
  try {
    clusterAddress(url)
    return undefined
  } catch {
    return 'must be redis+cluster://host:port,host:port without a database number'
  }
}
