import { type Query, send } from '../../api/client.ts'

/** Downloads the devices of a query as CSV. Throws ApiError. */
export async function downloadDevices(query: Query): Promise<void> {
  const response = await send('/devices/export', {
    query: { ...query, format: 'csv' },
    headers: { Accept: 'text/csv' },
  })
  const link = document.createElement('a')
  link.href = URL.createObjectURL(await response.blob())
  link.download = 'devices.csv'
  link.click()
  URL.revokeObjectURL(link.href)
}
