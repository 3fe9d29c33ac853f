import { parseArgs } from 'node:util'
import { parseConfig } from '#core/config'
import { openKafkaEnds } from '#telemetry-log/kafka/kafka-ends'
import { openKafkaOffsets } from '#telemetry-log/kafka/kafka-offsets'
import { kafkaSettings } from '#telemetry-log/kafka/kafka-settings'
import { groupOf, offsetsSchema } from './config.ts'

// node apps/writer/copy-offsets.ts [--from=a] --to=b: lets the writers of copy b begin where those of copy a are now. Run it
// before the backup of a from which b starts. Without --from, it uses the group of the server of QUESTDB_URL.
const { values } = parseArgs({ options: { from: { type: 'string' }, to: { type: 'string' } } })
const config = parseConfig(offsetsSchema, process.env)
const settings = kafkaSettings(config)
if (!settings || !values.to) throw new Error('Usage: node apps/writer/copy-offsets.ts [--from=<copy>] --to=<copy>')

const fromGroup = groupOf(config.KAFKA_GROUP, values.from)
const toGroup = groupOf(config.KAFKA_GROUP, values.to)
const ends = openKafkaEnds(settings)
const from = openKafkaOffsets(settings, fromGroup)
const to = openKafkaOffsets(settings, toGroup)
try {
  const partitions = [...(await ends.read()).keys()]
  const known = await Promise.all(partitions.map((partition) => to.committed(partition)))
  if (known.some((committed) => committed !== undefined)) {
    throw new Error(`The group ${toGroup} has offsets already. Delete the group or choose another name for the copy.`)
  }
  const committed = await Promise.all(partitions.map((partition) => from.committed(partition)))
  const found = committed.flatMap((offset, index) => (offset ? [{ partition: partitions[index] ?? 0, offset }] : []))
  if (found.length === 0) throw new Error(`The group ${fromGroup} has no offsets.`)
  for (const { partition, offset } of found) await to.commit(partition, offset)
  console.log(
    `The group ${toGroup} begins where ${fromGroup} is, in ${found.length} of ${partitions.length} partitions.`,
  )
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
} finally {
  await Promise.all([ends.close(), from.close(), to.close()])
}
