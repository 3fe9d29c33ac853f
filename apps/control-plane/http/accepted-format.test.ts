import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { acceptedFormat } from './accepted-format.ts'

const offered = { json: 'application/json', csv: 'text/csv; charset=utf-8', parquet: 'application/vnd.apache.parquet' }

async function formatFor(accept: string | undefined, asked?: keyof typeof offered): Promise<string> {
  const app = new Hono()
  app.get('/', (http) => http.text(acceptedFormat(http, asked, offered)))
  app.onError((error, http) => http.text(error.message))
  return (await app.request('/', accept === undefined ? {} : { headers: { accept } })).text()
}

test.each([
  [undefined, 'json'],
  ['', 'json'],
  ['*/*', 'json'],
  ['application/*', 'json'],
  ['application/json, text/plain, */*', 'json'],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'json'],
  ['application/vnd.apache.parquet', 'parquet'],
  ['Application/Vnd.Apache.Parquet', 'parquet'],
  ['text/csv', 'csv'],
  ['text/csv; header=present', 'csv'],
  ['text/*', 'csv'],
  ['text/csv, */*', 'csv'],
  ['text/csv;q=0.5, application/vnd.apache.parquet;q=0.9', 'parquet'],
  ['application/json;q=0, */*;q=0.1', 'csv'],
])('Accept: %s is answered as %s', async (accept, format) => {
  expect(await formatFor(accept)).toBe(format)
})

test.each(['text/html', 'text/csv;q=0', 'text/csv;q=x', 'csv', ',;,'])('Accept: %s has no format', async (accept) => {
  expect(await formatFor(accept)).toBe(
    'Accept one of application/json, text/csv, application/vnd.apache.parquet, or send the parameter format.',
  )
})

test('the parameter format comes before the header', async () => {
  expect(await formatFor('text/html', 'parquet')).toBe('parquet')
})
