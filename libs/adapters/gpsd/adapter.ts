import { type Adapter, type AdapterHead, type AdapterRejection, refuse, type Translation } from '../adapter.ts'
import { createDroppedFields, type DroppedFields } from '../dropped-fields.ts'
import { isRecord, parseJson } from '../json.ts'
import { linesOf } from '../lines.ts'
import { compileTable } from '../mapping.ts'
import { problemReplies } from '../problem-replies.ts'
import { addFields, createSampleSet, type SampleSet, tooManySamples, translationOf } from '../sample-set.ts'
import { createObjectBoundaries } from './moments.ts'
import { gpsdTime, skyTable, tpvTable } from './table.ts'

const readPosition = compileTable(tpvTable)
const readSatellites = compileTable(skyTable)
const maxRejected = 1_000

/** Objects that gpsd sends to its watchers, one a line: TPV and SKY. Others are ignored. */
export const gpsd: Adapter = {
  source: 'gpsd',
  path: '/adapters/gpsd',
  mediaTypes: undefined,
  translate,
  ...problemReplies,
}

type Fields = Map<string, unknown>
type Position = { device: unknown; time: unknown; location: Fields }

/** The objects of one time, with the satellites of each receiver. */
type Moment = { positions: Position[]; satellites: Map<unknown, Fields> }

function translate(body: Buffer, _head: AdapterHead, receivedAtMs: number): Translation {
  const [set, dropped] = [createSampleSet(), createDroppedFields()]
  const rejected: AdapterRejection[] = []
  const boundaryOf = createObjectBoundaries()
  let moment: Moment = { positions: [], satellites: new Map() }
  const moments = [moment]
  let objects = 0
  for (const [index, line] of linesOf(body.toString('utf8')).entries()) {
    if (line.trim() === '') continue
    const parsed = parseJson(Buffer.from(line))
    if (!parsed.ok || !isRecord(parsed.value)) {
      rejected.push({ index, code: 'invalid_sample', detail: `Line ${index + 1} is not a JSON object.` })
      if (rejected.length > maxRejected) return refuse(`More than ${maxRejected} lines cannot be accepted.`)
      continue
    }
    objects += 1
    const { class: type, device, ...members } = parsed.value
    if (boundaryOf(line).begins) {
      moment = { positions: [], satellites: new Map() }
      moments.push(moment)
    }
    if (type === 'SKY') {
      const own = readSatellites(members, dropped).get('location') ?? []
      moment.satellites.set(device, new Map([...(moment.satellites.get(device) ?? []), ...own]))
    }
    if (type === 'TPV') {
      const location = readPosition(withHorizontalError(members), dropped).get('location') ?? new Map()
      moment.positions.push({ device, time: members.time, location })
    }
  }
  const satellites = new Map<unknown, Fields>()
  let newest: unknown
  /** The receiver whose satellites a position has. `device` is optional in all objects. */
  const receiverOf = (device: unknown) => (device === undefined ? newest : satellites.has(device) ? device : undefined)
  for (const { positions, satellites: own } of moments) {
    for (const [device, fields] of own) {
      satellites.set(device, fields)
      newest = device
    }
    const used = positions.flatMap(({ device }) => [device, undefined, receiverOf(device)])
    for (const position of bestOf(positions))
      if (!addPosition(set, position, satellites.get(receiverOf(position.device)), dropped)) return tooManySamples
    // Without a position of their own, they belong to the next one.
    for (const receiver of used) satellites.delete(receiver)
  }
  if (objects === 0 && rejected.length === 0) return refuse('The body has no objects.')
  return translationOf({ set, dropped, rejected, receivedAtMs })
}

/** Names the errors of gpsd before 3.20, which has no `eph`. */
function withHorizontalError(tpv: Record<string, unknown>): Record<string, unknown> {
  const { epx, epy, ...members } = tpv
  const isOld = tpv.eph === undefined && (epx !== undefined || epy !== undefined)
  return isOld ? { ...members, 'epx-epy': [epx, epy] } : tpv
}

/** Returns one position of each time: of several receivers, that with the best fix. */
function bestOf(positions: readonly Position[]): Iterable<Position> {
  const byTime = new Map<unknown, Position>()
  for (const position of positions) {
    const known = byTime.get(position.time)
    if (known && known.device === position.device)
      for (const [field, value] of position.location) known.location.set(field, value)
    else if (!known || isBetter(position, known)) byTime.set(position.time, position)
  }
  return byTime.values()
}

function isBetter({ location: one }: Position, { location: other }: Position): boolean {
  const dimensions = (fields: Fields) => ['2d', '3d'].indexOf(String(fields.get('fix')))
  const accuracyM = (fields: Fields) => Number(fields.get('accuracyM') ?? Number.POSITIVE_INFINITY)
  return dimensions(one) === dimensions(other) ? accuracyM(one) < accuracyM(other) : dimensions(one) > dimensions(other)
}

/** Returns false if there are too many samples. */
function addPosition(
  set: SampleSet,
  { time, location }: Position,
  satellites: ReadonlyMap<string, unknown> = new Map(),
  dropped: DroppedFields,
): boolean {
  const hasFix = location.has('lat') && location.get('fix') !== 'none'
  // A receiver without a fix may not know the time.
  if (!hasFix) location.delete('fixTs')
  if (location.size === 0) return true
  for (const [field, value] of satellites) if (!location.has(field)) location.set(field, value)
  const tsMs = hasFix ? gpsdTime(time) : undefined
  const fields = new Map([['location' as const, location.set('source', 'gnss')]])
  return addFields(set, fields, typeof tsMs === 'number' ? tsMs : undefined, dropped)
}
