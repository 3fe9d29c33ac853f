import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { parseConfig } from '#core/config'
import { onlyQuestdbServer, questdbServers, questdbSqlUrls, questdbVariables } from './servers.ts'

const variables = (environment: Record<string, string>) => parseConfig(z.object(questdbVariables), environment)
const serversOf = (environment: Record<string, string>) =>
  questdbServers(variables(environment)).map(({ password, ...server }) => ({ ...server, password: password.reveal() }))

const single = { QUESTDB_URL: 'http://one:9000/', QUESTDB_PG_URL: 'postgresql://one:8812/qdb' }
const [a, b] = ['a=http://one:9000,postgresql://one:8812/qdb', 'b=http://two:9000,postgresql://two:8812/qdb']

describe('the QuestDB servers', () => {
  test('are one without a name, with the credentials of their own variables', () => {
    expect(serversOf({ ...single, QUESTDB_USER: 'me', QUESTDB_PASSWORD: 'a b' })).toEqual([
      {
        name: undefined,
        url: 'http://one:9000',
        pgUrl: 'postgresql://me:a%20b@one:8812/qdb',
        user: 'me',
        password: 'a b',
      },
    ])
  })

  test('are several in the configured order, each with its own credentials', () => {
    const own = 'b=http://me:p%2Cw%3B@two:9000,postgresql://you:other@two:8812/qdb'
    expect(serversOf({ QUESTDB_SERVERS: `${a}; ${own};` })).toEqual([
      {
        name: 'a',
        url: 'http://one:9000',
        pgUrl: 'postgresql://admin:quest@one:8812/qdb',
        user: 'admin',
        password: 'quest',
      },
      {
        name: 'b',
        url: 'http://two:9000',
        pgUrl: 'postgresql://you:other@two:8812/qdb',
        user: 'me',
        password: 'p,w;',
      },
    ])
  })

  test.each([
    [{}, 'QUESTDB_URL: set it together with QUESTDB_PG_URL, or set QUESTDB_SERVERS'],
    [{ QUESTDB_URL: single.QUESTDB_URL }, 'QUESTDB_URL: set it together with QUESTDB_PG_URL'],
    [{ ...single, QUESTDB_SERVERS: a }, 'set either QUESTDB_SERVERS or QUESTDB_URL and QUESTDB_PG_URL, not both'],
    [{ QUESTDB_SERVERS: `${a};c=http://one:9000` }, 'QUESTDB_SERVERS: entry 2 must be name=http://'],
    [{ QUESTDB_SERVERS: 'A b=http://one:9000,postgresql://one:8812/qdb' }, 'QUESTDB_SERVERS: entry 1 must be'],
    [{ QUESTDB_SERVERS: `${a};${b.replace('b=', 'a=')}` }, 'QUESTDB_SERVERS: two entries have the same name'],
    [{ QUESTDB_SERVERS: `${a};${a.replace('a=', 'b=')}` }, 'QUESTDB_SERVERS: two entries have the same address'],
    [{ QUESTDB_SERVERS: ';' }, 'QUESTDB_SERVERS: must name at least one server'],
  ])('%j are refused with a sentence', (environment, sentence) => {
    expect(() => serversOf(environment)).toThrow(sentence)
  })

  test('a refusal does not print a password', () => {
    const refuse = () => serversOf({ QUESTDB_SERVERS: 'a=http://me:secret@one:9000' })
    expect(refuse).toThrow()
    expect(refuse).not.toThrow('secret')
  })

  test('a use that needs one server refuses several', () => {
    expect(onlyQuestdbServer(variables(single), 'one only').url).toBe('http://one:9000')
    const several = variables({ QUESTDB_SERVERS: `${a};${b}` })
    expect(() => onlyQuestdbServer(several, 'one only')).toThrow('QUESTDB_SERVERS: one only')
  })

  test('an app that only runs SQL needs no HTTP address', () => {
    expect(questdbSqlUrls(variables({ QUESTDB_PG_URL: single.QUESTDB_PG_URL }))).toEqual([
      'postgresql://admin:quest@one:8812/qdb',
    ])
    expect(questdbSqlUrls(variables({ QUESTDB_SERVERS: `${a};${b}` }))).toHaveLength(2)
  })
})
