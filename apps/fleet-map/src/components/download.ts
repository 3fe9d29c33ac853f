import { ApiError, type Query, send } from '../api/client.ts'
import type { ApiAddress, Operation, QueryOf } from '../api/operations.ts'

/** Downloads a CSV file of the API under this name. Throws ApiError, also when the file is not complete. */
export async function downloadCsv<Asked extends ApiAddress<'get'>>(
  path: Asked,
  query: QueryOf<Operation<'get', Asked>>,
  name: string,
): Promise<void> {
  const response = await send('get', path, {
    query: { ...(query as Query), format: 'csv' },
    headers: { Accept: 'text/csv' },
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
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}
