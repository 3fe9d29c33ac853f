import type { Command } from 'commander'
import { problemOf } from '../../problem.ts'
import { retryingFetch } from '../../retrying-fetch.ts'
import { readArgument } from '../input.ts'
import { requireJson } from '../json-value.ts'
import { openSession } from '../session.ts'

/** `api`: any route, for what has no command. */
export function addApiCommand(program: Command): void {
  program
    .command('api <method> <path>')
    .description('Send any request, for example `api GET /orgs`. Prints the body of the response.')
    .option('--data <json>', 'the body: JSON, @file, or - for the standard input')
    .action(sendRequest)
}

async function sendRequest(method: string, path: string, { data }: { data?: string }, command: Command): Promise<void> {
  const { baseUrl, key } = openSession(command)
  const headers = { Authorization: `Bearer ${key}`, ...(data !== undefined && { 'Content-Type': 'application/json' }) }
  const address = `${baseUrl.replace(/\/$/, '')}/${path.replace(/^\//, '')}`
  const body = data === undefined ? {} : { body: await readArgument(data) }
  // The text is sent as it is: parsing would change long numbers.
  if (body.body !== undefined) requireJson(body.body)
  const response = await retryingFetch(fetch)(new Request(address, { method: method.toUpperCase(), headers, ...body }))
  if (!response.ok) throw await problemOf(response)
  const text = await response.text()
  if (text !== '') process.stdout.write(text.endsWith('\n') ? text : `${text}\n`)
}
