import { ServiceError } from '#core/errors'
import { authorize } from '#fleet/access/principal'
import type { FleetContext } from '#fleet/context'
import { insertDeviceTokens } from '#fleet/devices/credentials/tokens'
import { type ImportedChange, updateImported } from '#fleet/devices/import-changes'
import { insertDevices, type NewDevice } from '#fleet/devices/register'
import { faultOfTags } from '#fleet/devices/tags'
import { requireOrganization } from '#fleet/organizations/organizations'
import {
  countedDevices,
  type Entitlement,
  quotaExceededDetail,
  requireActiveSubscription,
  reserveQuota,
} from '#fleet/organizations/subscriptions'
import { tenantTransaction } from '#fleet/tenant'
import type { Connection } from '#postgres/pool'

type ImportFailure = { code: string; detail: string }
/** A parsed row: a device to create, or the reason why it is invalid. `line` is its line in the file, from 1. */
export type ImportRow = { line: number } & ({ device: NewDevice; hasTags: boolean } | ImportFailure)

/** The result of the row at `index`, counted from 0. */
type ImportResult = { index: number; line: number } & (
  | { status: 'created'; id?: string; token?: string }
  | { status: 'updated'; id: string }
  | ({ status: 'failed' } & ImportFailure)
)
type ImportReport = { created: number; updated: number; results: ImportResult[] }

type DeviceImport = {
  organizationId: string
  rows: readonly ImportRow[]
  atomic: boolean
  tokens: boolean
  /** What happens to a row whose serial a device already has. */
  existing: 'fail' | 'update'
  /** Checks the rows and changes nothing. */
  dryRun: boolean
}
type Candidate = { index: number; device: NewDevice }

/**
 * Creates many devices (`device:create`), in the order of the rows, until the quota is exhausted. The report gives a reason
 * for each row that failed. With `tokens`, it contains the device tokens, which are returned only here. With `existing:
 * 'update'` (also `device:update`), a row with the serial of a device changes its name, model, tags and notes. With
 * `dryRun`, reports what would happen, without ids and tokens of new devices. Throws 404, 402, and with `atomic` 422 with the
 * report when any row fails; then no device is created or changed.
 */
export async function importDevices(ctx: FleetContext, wanted: DeviceImport): Promise<ImportReport> {
  const { organizationId, existing } = wanted
  authorize(ctx.principal, organizationId, 'device:create')
  if (existing === 'update') authorize(ctx.principal, organizationId, 'device:update')
  await requireOrganization(ctx, organizationId)
  const attempt = (lock: boolean) => importOnce(ctx, wanted, lock)
  return attempt(false).catch((error: unknown) => {
    if (error instanceof OvertakenError) return attempt(true)
    throw error
  })
}

/** Other transactions have used serials or quota that were free when the import began. Nothing was stored. */
class OvertakenError extends Error {}

/**
 * Imports in one transaction. Without `lock`, it locks the usage counter last, so that enrollments do not wait until all
 * rows are inserted, and throws `OvertakenError` if others were faster. With `lock`, none of them can commit meanwhile.
 */
function importOnce(
  ctx: FleetContext,
  { organizationId, rows, atomic, tokens, existing, dryRun }: DeviceImport,
  lock: boolean,
): Promise<ImportReport> {
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const entitlement = await requireActiveSubscription(ctx, connection, organizationId)
    const used = await (lock ? lockUsage : countedDevices)(connection, organizationId)
    const { creatable, changeable, failures } = await checkRows(connection, { entitlement, used }, rows, existing)
    if (atomic && failures.size > 0) throw refuseAll(rows, failures)
    if (dryRun) {
      const created = new Map(creatable.map(({ index }) => [index, {}]))
      return reportOf(rows, { created, updated: new Map(changeable.map((row) => [row.index, row.deviceId])), failures })
    }
    const created = await createAll(ctx, connection, organizationId, creatable, tokens)
    const updated = await updateImported(ctx, connection, organizationId, changeable)
    await reserveCreated(connection, entitlement, created.size)
    return reportOf(rows, { created, updated, failures })
  })
}

type Outcomes = {
  created: ReadonlyMap<number, { id?: string; token?: string }>
  updated: ReadonlyMap<number, string>
  failures: ReadonlyMap<number, ImportFailure>
}

function reportOf(rows: readonly ImportRow[], { created, updated, failures }: Outcomes): ImportReport {
  const results = rows.map(({ line }, index): ImportResult => {
    const made = created.get(index)
    if (made) return { index, line, status: 'created', ...made }
    const id = updated.get(index)
    if (id !== undefined) return { index, line, status: 'updated', id }
    return { index, line, status: 'failed', ...failureAt(failures, index) }
  })
  return { created: created.size, updated: updated.size, results }
}

/** Decides for each row whether it can be created, when the organization has `used` devices. */
async function checkRows(
  connection: Connection,
  { entitlement, used }: { entitlement: Entitlement; used: number },
  rows: readonly ImportRow[],
  existing: DeviceImport['existing'],
) {
  const known = await readSerials(connection, entitlement.organizationId, rows)
  const taken = new Set<string>()
  const changeable: ImportedChange[] = []
  const failures = new Map<number, ImportFailure>()
  const creatable: Candidate[] = []
  for (const [index, row] of rows.entries()) {
    if (!('device' in row)) {
      failures.set(index, row)
      continue
    }
    const { key = '', deviceId, tags = [] } = known.get(row.device.serial) ?? {}
    const fault = faultOfTags(tags, row.device.tags)
    if (fault !== undefined) failures.set(index, { code: 'invalid_row', detail: fault })
    else if (taken.has(key) || (deviceId && existing === 'fail')) failures.set(index, serialTaken(row.device.serial))
    else if (deviceId) changeable.push({ index, deviceId, device: row.device, hasTags: row.hasTags })
    else if (used + creatable.length >= entitlement.deviceQuota) failures.set(index, quotaExceeded(entitlement))
    else creatable.push({ index, device: row.device })
    if (!failures.has(index)) taken.add(key)
  }
  return { creatable, changeable, failures }
}

/** Locks the usage counter, so that no other transaction can commit a new device. */
async function lockUsage(connection: Connection, organizationId: string): Promise<number> {
  const { rows } = await connection.query<{ device_count: number }>(
    'SELECT device_count FROM organization_usage WHERE organization_id = $1 FOR UPDATE',
    [organizationId],
  )
  return rows[0]?.device_count ?? 0
}

type KnownSerial = { key: string; deviceId?: string; tags?: string[] }

/**
 * What the database knows of each serial: the device that has it in any case or encoding, and a key that is equal for rows of the
 * same device. Of two older devices, it is the one whose serial has the same spelling.
 */
async function readSerials(
  connection: Connection,
  organizationId: string,
  importRows: readonly ImportRow[],
): Promise<Map<string, KnownSerial>> {
  const serials = [...new Set(importRows.flatMap((row) => ('device' in row ? [row.device.serial] : [])))]
  const { rows: asked } = await connection.query<{ serial: string; folded: string }>(
    'SELECT serial, text_folded(serial) AS folded FROM unnest($1::text[]) AS asked (serial)',
    [serials],
  )
  const { rows: found } = await connection.query<FoundDevice>(
    `SELECT id, serial, text_folded(serial) AS folded, tags FROM devices_by_folded_serial($1, $2::text[])
     ORDER BY shares_serial DESC`,
    [organizationId, [...new Set(asked.map(({ folded }) => folded))]],
  )
  const bySerial = new Map(found.map((device) => [device.serial, device]))
  const byFolded = new Map(found.map((device) => [device.folded, device]))
  return new Map(
    asked.map(({ serial, folded }) => {
      const device = bySerial.get(serial) ?? byFolded.get(folded)
      return [serial, device ? { key: device.id, deviceId: device.id, tags: device.tags } : { key: folded }]
    }),
  )
}

type FoundDevice = { id: string; serial: string; folded: string; tags: string[] }

/** Rows per statement. The parameters of all rows at once would hold up the other requests of this process. */
const insertedTogether = 1_000

async function createAll(
  ctx: FleetContext,
  connection: Connection,
  organizationId: string,
  creatable: readonly Candidate[],
  withTokens: boolean,
): Promise<Map<number, { id: string; token?: string }>> {
  const registrar = { actor: ctx.principal.id, requestId: ctx.requestId }
  const created = new Map<number, { id: string; token?: string }>()
  for (let start = 0; start < creatable.length; start += insertedTogether) {
    const part = creatable.slice(start, start + insertedTogether)
    const devices = part.map(({ device }) => device)
    const rows = await insertDevices(connection, organizationId, devices, registrar)
    const ids = rows.map((row) => {
      if (!row) throw new OvertakenError('Another transaction has inserted a serial.')
      return row.id
    })
    const tokens = withTokens ? await insertDeviceTokens(connection, organizationId, ids) : []
    for (const [place, { index }] of part.entries()) {
      const token = tokens[place]
      created.set(index, { id: ids[place] ?? '', ...(token === undefined ? {} : { token }) })
    }
  }
  return created
}

async function reserveCreated(connection: Connection, entitlement: Entitlement, count: number): Promise<void> {
  if (count === 0) return
  await reserveQuota(connection, entitlement, count).catch((error: unknown) => {
    const isExceeded = error instanceof ServiceError && error.code === 'device_quota_exceeded'
    throw isExceeded ? new OvertakenError('Another transaction has used the quota.') : error
  })
}

const serialTaken = (serial: string): ImportFailure => ({
  code: 'serial_taken',
  detail: `Another device or row already has the serial ${serial}.`,
})

const quotaExceeded = ({ deviceQuota }: Entitlement): ImportFailure => ({
  code: 'device_quota_exceeded',
  detail: quotaExceededDetail(deviceQuota),
})

const notCreated: ImportFailure = { code: 'not_created', detail: 'Another row failed, and the import is atomic.' }

const failureAt = (failures: ReadonlyMap<number, ImportFailure>, index: number): ImportFailure =>
  failures.get(index) ?? notCreated

function refuseAll(rows: readonly ImportRow[], failures: ReadonlyMap<number, ImportFailure>): ServiceError {
  const results = rows.map(({ line }, index) => ({ index, line, status: 'failed', ...failureAt(failures, index) }))
  return new ServiceError(
    422,
    'import_failed',
    `${failures.size} of ${rows.length} rows failed. No device was created.`,
    {
      members: { created: 0, updated: 0, results },
    },
  )
}
