import { serve } from '@hono/node-server'
import { Sender } from '@questdb/nodejs-client'
import { Hono } from 'hono'
import { z } from 'zod'

// A straightforward implementation: Hono, a zod schema for the body, the QuestDB client. Nothing is durable before a flush.
const sampleSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('cellular'),
    ts: z.number(),
    rat: z.string().optional(),
    plmn: z.string().optional(),
    operatorName: z.string().optional(),
    band: z.string().optional(),
    arfcn: z.number().optional(),
    pci: z.number().optional(),
    cellId: z.string().optional(),
    tac: z.string().optional(),
    rssiDbm: z.number().optional(),
    rsrpDbm: z.number().optional(),
    rsrqDb: z.number().optional(),
    sinrDb: z.number().optional(),
  }),
  z.object({
    kind: z.literal('location'),
    ts: z.number(),
    lat: z.number(),
    lon: z.number(),
    fix: z.string().optional(),
    accuracyM: z.number().optional(),
    satellites: z.number().optional(),
    altitudeM: z.number().optional(),
    speedMps: z.number().optional(),
    headingDeg: z.number().optional(),
  }),
])
const bodySchema = z.object({ samples: z.array(sampleSchema).min(1).max(1_000) })

const sender = await Sender.fromConfig(String(process.env.SENDER_CONFIG))
const app = new Hono()
app.post('/telemetry', async (c) => {
  const parsed = await bodySchema.safeParseAsync(await c.req.json())
  if (!parsed.success) return c.json({ error: parsed.error.issues }, 400)
  for (const { kind, ts, ...fields } of parsed.data.samples) {
    const row = sender.table(`naive_${kind}`).symbol('device_id', c.req.header('authorization') ?? '')
    for (const [name, value] of Object.entries(fields)) {
      if (typeof value === 'number') row.floatColumn(name, value)
      else if (typeof value === 'string') row.stringColumn(name, value)
    }
    // Without auto-flush nothing is awaited, so that the rows of concurrent requests do not mix.
    void row.at(ts, 'ms')
  }
  await sender.flush()
  return c.json({ accepted: parsed.data.samples.length, rejected: [] }, 202)
})
serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => process.send?.({ port }))
process.on('disconnect', () => process.exit(0))
