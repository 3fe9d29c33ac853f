import type { Queryable } from '#postgres/pool'

/** Postgres channel that wakes the worker when there are jobs to offer, to release or to time. */
export const workChannel = 'job_work'

/** Wakes the worker when the transaction commits. Postgres merges equal notices of one transaction. */
export const wakeWorker = (connection: Queryable) => connection.query(`SELECT pg_notify('${workChannel}', '')`)

/** Postgres channel that wakes the long polls of devices. The payload lists device ids, separated by commas. */
export const deviceJobsChannel = 'device_jobs'

/** Payload that wakes the long polls of all devices. */
export const allDevices = '*'

// A payload is limited to 8,000 bytes; an id with its comma takes 37.
const idsPerNotice = 200

/** Wakes the long polls of these devices when the transaction commits. */
export async function wakeDevices(connection: Queryable, deviceIds: readonly string[]): Promise<void> {
  if (deviceIds.length === 0) return
  const payloads: string[] = []
  for (let start = 0; start < deviceIds.length; start += idsPerNotice) {
    payloads.push(deviceIds.slice(start, start + idsPerNotice).join(','))
  }
  await connection.query(`SELECT pg_notify('${deviceJobsChannel}', payload) FROM unnest($1::text[]) AS payload`, [
    payloads,
  ])
}

/** Wakes the long polls of all devices, because jobs that are already dispatched may have become available. */
export const wakeAllDevices = (connection: Queryable) =>
  connection.query(`SELECT pg_notify('${deviceJobsChannel}', '${allDevices}')`)
