import { ApiError, type Query, send } from '../api/client.ts'
import type { ApiAddress, Operation, QueryOf } from '../api/operations.ts'

const types = { csv: 'text/csv', parquet: 'application/vnd.apache.parquet' }
export type DownloadFormat = keyof typeof types

/** Downloads a file of the API under this name. Throws ApiError, also when the file is not complete. */
export async function downloadFile<Asked extends ApiAddress<'get'>>(
  path: Asked,
  query: QueryOf<Operation<'get', Asked>>,
  name: string,
  format: DownloadFormat = 'csv',
): Promise<void> {
  const response = await send('get', path, {
    query: { ...(query as Query), format },
    headers: { Accept: types[format] },
  })
  const file = await response.blob().catch(() => {
    throw new ApiError(
      0,
      'incomplete',
      'The download stopped before the end of the file. The connection broke, or your access changed. Try again.',
    )
  })
  const link = document.createElement('a')
  link.href = URL.createObjectURL(file)
  link.download = `${name}.${format}`
  link.click()
  URL.revokeObjectURL(link.href)
}
