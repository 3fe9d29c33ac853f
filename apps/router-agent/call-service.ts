import { type Dispatcher, request } from 'undici'

/** The service refused a request; a retry would be refused too. */
export class SetupRefused extends Error {}

/** Calls the API with JSON. Throws SetupRefused for a 4xx but 429, and another error while the service is unavailable. */
export type CallService = (
  method: 'GET' | 'POST' | 'PATCH',
  path: string,
  body?: string,
  headers?: Record<string, string>,
) => Promise<unknown>

export function createServiceCaller(options: { baseUrl: string; apiKey: string; dispatcher: Dispatcher }): CallService {
  const { apiKey, dispatcher } = options
  const prefix = options.baseUrl.replace(/(?<!\/)\/+$/, '')
  return async (method, path, body, headers = {}) => {
    const answer = await request(prefix + path, {
      method,
      dispatcher,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body ?? null,
    })
    const text = await answer.body.text()
    if (answer.statusCode < 300) return JSON.parse(text)
    const sentence = `${method} ${path} failed with status ${answer.statusCode}: ${text.slice(0, 300)}`
    throw answer.statusCode < 500 && answer.statusCode !== 429 ? new SetupRefused(sentence) : new Error(sentence)
  }
}

/** Returns the items of all pages. `path` has a query, which may be empty. */
export async function listAll<Item>(call: CallService, path: string): Promise<Item[]> {
  const items: Item[] = []
  let cursor: string | null = null
  do {
    const from: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const page = (await call('GET', `${path}&limit=200${from}`)) as { items: Item[]; nextCursor: string | null }
    items.push(...page.items)
    cursor = page.nextCursor
  } while (cursor !== null)
  return items
}
