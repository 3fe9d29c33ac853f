import { newId } from '#core/ids'
import { issueToken } from '#core/tokens'
import type { Queryable } from '#postgres/pool'

/** A registered device with its token. */
export type ReportingDevice = { id: string; organizationId: string; token: string }

/** Creates an organization for the devices of one test. */
export async function newOrganization(db: Queryable): Promise<string> {
  const id = newId()
  await db.query("INSERT INTO organization (id, name, plan) VALUES ($1, $1::uuid::text, 'enterprise')", [id])
  await db.query('INSERT INTO organization_usage (organization_id) VALUES ($1)', [id])
  return id
}

/** Registers devices that have never reported. */
export async function newReportingDevices(
  db: Queryable,
  organizationId: string,
  count: number,
): Promise<ReportingDevice[]> {
  const devices = Array.from({ length: count }, () => ({ id: newId(), organizationId, issued: issueToken('fld') }))
  const ids = devices.map(({ id }) => id)
  await db.query(
    `INSERT INTO device (id, organization_id, serial, name, model)
     SELECT id, $1, id::text, 'Router', 'R1' FROM unnest($2::uuid[]) AS id`,
    [organizationId, ids],
  )
  await db.query(
    'INSERT INTO device_ownership (device_id, organization_id, owned_from) SELECT id, $1, now() FROM unnest($2::uuid[]) AS id',
    [organizationId, ids],
  )
  await db.query(
    `INSERT INTO device_token (id, organization_id, device_id, token_hash)
     SELECT id, $1, device_id, hash FROM unnest($2::text[], $3::uuid[], $4::bytea[]) AS t(id, device_id, hash)`,
    [organizationId, devices.map(({ issued }) => issued.id), ids, devices.map(({ issued }) => issued.hash)],
  )
  return devices.map(({ id, issued }) => ({ id, organizationId, token: issued.token }))
}
