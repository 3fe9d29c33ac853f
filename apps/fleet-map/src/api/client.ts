import { batch, computed, signal } from '@preact/signals'
import type { Method } from '#client/request'
import type {
  AnswerOf,
  ApiAddress,
  BodyOf,
  Known,
  ListItemOf,
  NeedsBody,
  Operation,
  PlanOf,
  QueryOf,
} from './operations.ts'
import { problemText } from './problem-text.ts'
import type { Caller } from './schemas.ts'

/** An error response of the service (RFC 9457). `status` is 0 when the service could not be reached. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly retryAfterS: number | null
  /** What is wrong with members of the request. */
  readonly fields: { pointer: string; code: string; detail: string }[]

  constructor(
    status: number,
    code: string,
    detail: string,
    retryAfterS: number | null = null,
    fields: { pointer: string; code: string; detail: string }[] = [],
  ) {
    super(detail)
    this.status = status
    this.code = code
    this.retryAfterS = retryAfterS
    this.fields = fields
  }
}

/** True for errors that another try can overcome: the service is unreachable, overloaded or limits requests. */
export const isPassing = ({ status }: ApiError): boolean => status === 0 || status === 429 || status >= 500

/** True if the plan of the organization does not include what was asked for. */
export const isNotInPlan = ({ code }: ApiError): boolean => code === 'plan_feature'

const storageKey = 'routerfleet.apiKey'
// The page and the API have the same base address, with or without a path prefix.
const base = new URL('.', document.baseURI)

/** The API key of this tab; null when signed out. Kept in session storage only, never in an address. */
export const apiKey = signal<string | null>(sessionStorage.getItem(storageKey))

/** The person whose session cookie the browser has; undefined until the service has answered, null when signed out. */
export const sessionCaller = signal<Caller | null | undefined>(undefined)

export const isSignedIn = computed(() => apiKey.value !== null || Boolean(sessionCaller.value))

/** True after the service rejected this tab's key or session, until somebody signs in. The page stays as it is below the sign-in. */
export const accessWasRefused = signal(false)

/** Keeps a key for this tab. The page uses it from now on, or after a reload. */
export const storeKey = (key: string): void => sessionStorage.setItem(storageKey, key)

/** Continues with the key or the session that `next` brings. */
export function enter(next: { key: string } | { session: Caller }): void {
  batch(() => {
    accessWasRefused.value = false
    if ('key' in next) apiKey.value = next.key
    else sessionCaller.value = next.session
  })
}

/** Resolves once somebody is signed in. */
const untilSignedIn = (abort: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    let stop = () => {}
    const giveUp = () => {
      stop()
      reject(abort?.reason)
    }
    abort?.addEventListener('abort', giveUp, { once: true })
    stop = isSignedIn.subscribe((isSignedInNow) => {
      if (!isSignedInNow) return
      abort?.removeEventListener('abort', giveUp)
      queueMicrotask(() => stop())
      resolve()
    })
  })

/** Ends the session of this browser, if it has one, and forgets the key of this tab. */
export async function signOut(): Promise<void> {
  if (apiKey.value === null) await remove('/auth/session')
  forgetAccess()
}

function forgetAccess(): void {
  sessionStorage.removeItem(storageKey)
  sessionCaller.value = null
  apiKey.value = null
}

/** The headers with which this tab authenticates. Empty for a session, whose cookie the browser adds. */
export const accessHeaders = (): Record<string, string> =>
  apiKey.value === null ? {} : { Authorization: `Bearer ${apiKey.value}` }

export type Query = Record<string, string | number | boolean | readonly string[] | null | undefined>

function address(path: string, query: Query = {}): URL {
  const url = new URL(path.replace(/^\//, ''), base)
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === '') continue
    for (const one of Array.isArray(value) ? value : [value]) url.searchParams.append(name, String(one))
  }
  return url
}

/** Returns the address of the fleet's vector tiles, with {z}, {x} and {y}. */
export const tilesAddress = (query: QueryOf<Operation<'get', '/fleet/tiles.json'>>): string =>
  `${base.href}fleet/tiles/{z}/{x}/{y}.mvt${address('', query).search}`

type SendOptions = {
  query?: Query
  body?: unknown
  /** A body that is already text, with its content type. */
  raw?: { text: string; contentType: string }
  headers?: Record<string, string>
  signal?: AbortSignal
  key?: string
}

/**
 * Sends a request. Throws ApiError for every response other than 2xx and 304. A 401 for the stored key or the session asks for
 * another sign-in, and what only reads is then sent again.
 */
export async function send(method: Method, path: string, options: SendOptions = {}): Promise<Response> {
  const isRead = method === 'get' || options.query?.dryRun === true
  for (;;) {
    const { response, isPresent } = await sendOnce(method, path, options)
    if (response.ok || response.status === 304) return response
    if (response.status === 401 && !options.key) {
      if (isPresent && isSignedIn.value) forgetRefusedAccess()
      if (isRead && (accessWasRefused.value || (isSignedIn.value && !isPresent))) {
        await untilSignedIn(options.signal)
        continue
      }
    }
    throw await errorOf(response)
  }
}

const forgetRefusedAccess = (): void =>
  batch(() => {
    accessWasRefused.value = true
    forgetAccess()
  })

/** `isPresent`: a late refusal of an earlier key or session says nothing about the present one. */
type Sent = { response: Response; isPresent: boolean }

async function sendOnce(method: Method, path: string, options: SendOptions): Promise<Sent> {
  const key = options.key ?? apiKey.value
  const session = sessionCaller.value
  // The service refuses changes with a cookie but without this header, which other sites cannot send.
  const headers: Record<string, string> = { Accept: 'application/json', 'X-Routerfleet-Page': '1', ...options.headers }
  if (key) headers.Authorization = `Bearer ${key}`
  const body = options.raw ? options.raw.text : options.body === undefined ? null : JSON.stringify(options.body)
  if (body !== null) headers['Content-Type'] = options.raw?.contentType ?? 'application/json'
  try {
    const response = await fetch(address(path, options.query), {
      method: method.toUpperCase(),
      headers,
      body,
      signal: options.signal ?? null,
      credentials: key ? 'omit' : 'same-origin',
      cache: 'no-store',
    })
    return { response, isPresent: key === apiKey.value && session === sessionCaller.value }
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new ApiError(0, 'unreachable', 'Cannot reach the service. Check the connection.')
  }
}

async function errorOf(response: Response): Promise<ApiError> {
  const problem = (await response.json().catch(() => ({}))) as {
    code?: string
    detail?: string
    title?: string
    errors?: { pointer: string; code: string; detail: string }[]
  }
  const retryAfter = Number(response.headers.get('Retry-After'))
  if (response.status === 401 && accessWasRefused.value)
    return new ApiError(401, 'signed_out', 'Your session had ended, so this was not done. Try again.')
  return new ApiError(
    response.status,
    problem.code ?? 'error',
    problemText(
      problem.detail ?? problem.title ?? `The service returned status ${response.status}.`,
      problem.errors ?? [],
    ),
    Number.isFinite(retryAfter) && retryAfter > 0 ? retryAfter : null,
    problem.errors ?? [],
  )
}

type OptionsOf<Called> = Omit<SendOptions, 'query' | 'body'> & { query?: QueryOf<Called> } & BodyPart<Called>
type BodyPart<Called> = NeedsBody<Called> extends true ? { body: BodyOf<Called> } : { body?: BodyOf<Called> }

type Arguments<Options> = object extends Options ? [options?: Options] : [options: Options]

/** Sends a request of one method and returns the JSON of the response; undefined for a response without content. */
const request =
  <Verb extends Method>(method: Verb) =>
  async <Asked extends ApiAddress<Verb>>(
    path: Asked,
    ...[options]: Known<Operation<Verb, Asked>, Arguments<OptionsOf<Operation<Verb, Asked>>>>
  ): Promise<AnswerOf<Operation<Verb, Asked>>> => {
    const response = await send(method, path, options)
    return response.status === 204 ? (undefined as never) : await response.json()
  }

export const get = request('get')
export const post = request('post')
export const put = request('put')
export const patch = request('patch')
export const remove = request('delete')

/** Sends a POST as a dry run, which creates nothing, and returns what it would create. */
export async function dryRun<Asked extends ApiAddress<'post'>>(
  path: Asked,
  options: OptionsOf<Operation<'post', Asked>>,
): Promise<PlanOf<Operation<'post', Asked>>> {
  const response = await send('post', path, { ...options, query: { dryRun: true } })
  return await response.json()
}

type PageOptions<Called> = {
  query?: QueryOf<Called> | undefined
  cursor: string | null
  limit: number
  signal?: AbortSignal | null
}
type PageOf<Item> = { items: Item[]; nextCursor: string | null }

/** Reads a page of a list. `limit`: unless the query has one. */
export async function getPage<Asked extends ApiAddress<'get'>>(
  path: Asked,
  { query, cursor, limit, signal }: PageOptions<Operation<'get', Asked>>,
): Promise<PageOf<ListItemOf<Operation<'get', Asked>>>> {
  const response = await send('get', path, { query: { limit, ...query, cursor }, ...(signal ? { signal } : {}) })
  return await response.json()
}

type PagesOptions<Called> = Omit<PageOptions<Called>, 'cursor'> & { most: number }

/** Reads a list page by page. Stops after the page that reaches `most` items; there are more while `nextCursor` is not null. */
export async function readPages<Asked extends ApiAddress<'get'>>(
  path: Asked,
  { most, ...options }: PagesOptions<Operation<'get', Asked>>,
): Promise<PageOf<ListItemOf<Operation<'get', Asked>>>> {
  const items: ListItemOf<Operation<'get', Asked>>[] = []
  let nextCursor: string | null = null
  do {
    const page: PageOf<ListItemOf<Operation<'get', Asked>>> = await getPage(path, { ...options, cursor: nextCursor })
    items.push(...page.items)
    nextCursor = page.nextCursor
  } while (nextCursor !== null && items.length < most)
  return { items, nextCursor }
}

/** Reads a list page by page and returns its items. Stops after the page that reaches `most` items. */
export async function all<Asked extends ApiAddress<'get'>>(
  path: Asked,
  query?: QueryOf<Operation<'get', Asked>>,
  most = 2_000,
): Promise<ListItemOf<Operation<'get', Asked>>[]> {
  return (await readPages(path, { query, limit: 200, most })).items
}
