import createApiClient, { type Client } from 'openapi-fetch'
import { type BatchWait, type JobBatch, waitForBatch } from './batches.ts'
import type { paths } from './openapi.ts'
import { type ItemOf, type ListPath, listItems } from './pages.ts'
import { problemOf } from './problem.ts'
import type { Init, Method, Send, SendDryRun } from './request.ts'
import { type Fetch, type RetryOptions, retryingFetch } from './retrying-fetch.ts'

export type ClientOptions = RetryOptions & {
  /** The address of the service, for example `https://fleet.example.com`. */
  baseUrl: string
  /** An API key `flk_…` or an access token; for the routes of routers, a device token `fld_…`. */
  key: string
  fetch?: Fetch
}

export type Routerfleet = {
  get: Send<'get'>
  post: Send<'post'>
  put: Send<'put'>
  patch: Send<'patch'>
  delete: Send<'delete'>
  /** What a POST would create. Creates nothing. */
  dryRun: SendDryRun
  /** All items of a list, page by page. */
  list<Path extends ListPath>(path: Path, init?: Init<Path, 'get'>): AsyncGenerator<ItemOf<Path>, void>
  /** Resolves with the batch when all its jobs have ended. */
  waitForBatch(options: BatchWait): Promise<JobBatch>
  /** The underlying client, for headers such as `ETag`. Its responses have `data`, `error` and `response`. */
  api: Client<paths>
}

/** A client for one service and one key. */
export function createClient({ baseUrl, key, fetch = globalThis.fetch, ...retry }: ClientOptions): Routerfleet {
  const api = createApiClient<paths>({
    baseUrl: baseUrl.replace(/\/$/, ''),
    headers: { Authorization: `Bearer ${key}` },
    fetch: retryingFetch(fetch, retry),
    // `tag=bus&tag=night`: the service takes repeated parameters.
    querySerializer: { array: { style: 'form', explode: true } },
  })
  api.use({
    onResponse: async ({ response }) => {
      if (!response.ok && response.status !== 304) throw await problemOf(response)
    },
  })
  const send =
    <Verb extends Method>(verb: Verb): Send<Verb> =>
    async (path, ...init) => {
      const { data } = await api.request(verb, path as never, ...(init as unknown as [never]))
      return data as never
    }
  const get = send('get')
  const dryRun = async (path: string, init: { params?: { query?: object } } = {}) => {
    const params = { ...init.params, query: { ...init.params?.query, dryRun: 'true' } }
    const { data } = await api.request('post', path as never, { ...init, params } as never)
    return data
  }
  return {
    get,
    post: send('post'),
    put: send('put'),
    patch: send('patch'),
    delete: send('delete'),
    dryRun: dryRun as SendDryRun,
    list: (path, init) => listItems(get, path, init),
    waitForBatch: (options) => waitForBatch(get, options),
    api,
  }
}
