import { expect, test } from 'vitest'
import { createTestDatabase } from '#test/database'
import { type StartingPostgres, startingPostgres } from '#test/starting-postgres'
import { until } from '#test/until'
import { type ChannelListener, type Listening, listen } from './listen.ts'
import { openPool } from './pool.ts'

type Ends = (end: () => Promise<void>) => void

/** What a test works with: a database of its own, so that the tests can wait for their outages side by side. */
async function newScene(onTestFinished: Ends) {
  const database = await createTestDatabase()
  const pool = openPool(database.url, { applicationName: 'test' })
  const opened: (Listening | StartingPostgres)[] = []
  onTestFinished(async () => {
    for (const part of opened) await ('stop' in part ? part.stop() : part.close())
    await pool.end()
    await database.drop()
  })
  const notify = (channel: string, payload: string) => pool.query('SELECT pg_notify($1, $2)', [channel, payload])
  return {
    url: database.url,
    notify,
    async newWay(): Promise<StartingPostgres> {
      const way = await startingPostgres(database.url)
      opened.push(way)
      return way
    },
    listening(url: string, ...listeners: ChannelListener[]): Listening {
      const started = listen(url, listeners)
      opened.push(started)
      return started
    },
    async connections(): Promise<number> {
      const { rows } = await pool.query<{ count: number }>(
        `SELECT count(*)::int AS count FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = 'listener'`,
      )
      return rows[0]?.count ?? 0
    },
    /** Sends notices until one arrives. */
    untilHeard: (recorded: ReturnType<typeof recorder>, payload: string) =>
      until(
        `${payload} arrives`,
        async () => {
          await notify(recorded.channel, payload)
          return recorded.received.includes(payload)
        },
        30_000,
      ),
  }
}

/** A listener that records its notices. */
function recorder(channel: string): ChannelListener & { received: string[]; gaps(): number } {
  const received: string[] = []
  let gaps = 0
  return {
    channel,
    received,
    gaps: () => gaps,
    onNotice: (payload) => void received.push(payload),
    onGap: () => {
      gaps += 1
    },
  }
}

test.concurrent('several listeners share one connection and receive only their own channels', async ({
  onTestFinished,
}) => {
  const { url, notify, listening, connections } = await newScene(onTestFinished)
  const [first, second] = [recorder('first'), recorder('second')]
  await listening(url, first, second).connected
  await notify('first', 'for the first')
  await notify('second', 'for the second')
  await until('both arrive', async () => first.received.length > 0 && second.received.length > 0)
  expect([first.received, second.received]).toEqual([['for the first'], ['for the second']])
  expect(await connections()).toBe(1)
})

test.concurrent('listening that starts while Postgres is unavailable uses one connection later', {
  timeout: 90_000,
}, async ({ onTestFinished }) => {
  const { newWay, listening, untilHeard, connections } = await newScene(onTestFinished)
  const way = await newWay()
  const recorded = recorder('late')
  listening(way.url, recorded)
  await until('six attempts were refused', async () => way.refusals() >= 6, 60_000)
  way.comeUp()
  await untilHeard(recorded, 'hello')
  const refused = way.refusals()
  await untilHeard(recorded, 'hello again')
  expect(await connections()).toBe(1)
  expect(way.refusals()).toBe(refused)
})

test.concurrent('an outage leaves one connection, is reported as a gap, and does not speed up attempts', {
  timeout: 90_000,
}, async ({ onTestFinished }) => {
  const { newWay, listening, untilHeard, connections } = await newScene(onTestFinished)
  const way = await newWay()
  way.comeUp()
  const recorded = recorder('outage')
  await listening(way.url, recorded).connected
  const gaps = recorded.gaps()
  way.goDown()
  const startedMs = performance.now()
  await until('six attempts were refused', async () => way.refusals() >= 6, 60_000)
  expect(performance.now() - startedMs).toBeGreaterThan(2_500)
  way.comeUp()
  await untilHeard(recorded, 'hello')
  expect(recorded.gaps()).toBeGreaterThan(gaps)
  expect(await connections()).toBe(1)
})

test.concurrent('an open connection that does not respond is replaced', { timeout: 90_000 }, async ({
  onTestFinished,
}) => {
  const { newWay, listening, untilHeard, connections } = await newScene(onTestFinished)
  const way = await newWay()
  way.comeUp()
  const recorded = recorder('silent')
  await listening(way.url, recorded).connected
  way.silenceConnections()
  await untilHeard(recorded, 'hello')
  await until('only the new connection is left', async () => (await connections()) === 1)
})

test.concurrent('stopping ends the attempts and resolves `connected`', async ({ onTestFinished }) => {
  const { newWay, listening, connections } = await newScene(onTestFinished)
  const way = await newWay()
  const started = listening(way.url, recorder('stopped'))
  await until('an attempt was refused', async () => way.refusals() > 0)
  await started.stop()
  await started.connected
  way.comeUp()
  expect(await connections()).toBe(0)
})
