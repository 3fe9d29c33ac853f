import pg from 'pg'

/** `refused`: nothing listens at the address. `silent`: no answer in time, or the connection broke. */
type ProbeOutcome = 'answered' | 'refused' | 'silent'

export type CopyProbe = {
  /** Asks the server once. Never rejects. */
  probe(): Promise<ProbeOutcome>
  close(): Promise<void>
}

/** A frozen server accepts connections and never answers. */
const limitMs = 1_500

/** Opens a connection that is used for probes only, so that a probe does not wait for reads. */
export function openCopyProbe(pgUrl: string): CopyProbe {
  let connected: pg.Client | undefined

  async function connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: pgUrl,
      application_name: 'copy-probe',
      connectionTimeoutMillis: limitMs,
      query_timeout: limitMs,
    })
    client.on('error', () => drop(client))
    await client.connect()
    connected = client
    return client
  }

  function drop(client: pg.Client): void {
    if (connected === client) connected = undefined
    // With a query in progress, this closes the connection without waiting for the server.
    client.end().catch(() => {})
  }

  return {
    async probe() {
      try {
        const client = connected ?? (await connect())
        await client.query('SELECT 1')
        return 'answered'
      } catch (error) {
        if (connected) drop(connected)
        return error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED' ? 'refused' : 'silent'
      }
    },
    async close() {
      if (connected) drop(connected)
    },
  }
}
