import pg from 'pg'

export type Listening = { stop(): Promise<void> }

const retryMs = 500
const patienceMs = 5_000

/**
 * Calls `onNotice` with the payload of every NOTIFY on these channels. `onGap` is called whenever the connection was
 * lost and is there again, since notices in between are gone: whoever caches must forget what it knows. Rejects when
 * the first connection cannot be made.
 */
export async function listen(
  url: string,
  channels: readonly string[],
  onNotice: (channel: string, payload: string) => void,
  onGap: () => void,
): Promise<Listening> {
  let current: pg.Client | undefined
  let stopped = false
  let retry: NodeJS.Timeout | undefined

  const connect = async () => {
    const client = new pg.Client({
      connectionString: url,
      application_name: 'listener',
      keepAlive: true,
      connectionTimeoutMillis: patienceMs,
      query_timeout: patienceMs,
    })
    client.on('notification', ({ channel, payload }) => onNotice(channel, payload ?? ''))
    client.on('error', () => {})
    client.once('end', () => {
      if (!stopped) retry = setTimeout(reconnect, retryMs)
    })
    await client.connect()
    for (const channel of channels) await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`)
    current = client
  }
  const reconnect = () => {
    onGap()
    connect().then(onGap, () => {
      clearTimeout(retry)
      if (!stopped) retry = setTimeout(reconnect, retryMs)
    })
  }

  await connect()
  return {
    async stop() {
      stopped = true
      clearTimeout(retry)
      await current?.end().catch(() => {})
    },
  }
}
